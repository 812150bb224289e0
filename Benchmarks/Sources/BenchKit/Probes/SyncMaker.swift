import Foundation
import GRDB
import LFSSyncServer

/// A maker of a sync server's database with an account, its rows, and sessions for later devices.
package struct SyncMaker: Sendable {
    package var rows: Int
    /// The number of sessions of the account, without the one that pushes the rows.
    package var sessions: Int
    /// The number of other accounts that grant read access, each with one note.
    package var partners: Int
    /// The folder of the databases.
    package var folder: String

    package init(rows: Int, sessions: Int, partners: Int = 0, folder: String) {
        self.rows = rows
        self.sessions = sessions
        self.partners = partners
        self.folder = folder
    }

    static let database = "sync.sqlite"
    /// The app's database without rows, for `--schema-from`.
    static let schema = "schema.sqlite"
    /// The file with a token per line: of the session that pushed the rows, of an account without rows, and of the
    /// other sessions.
    static let tokens = "tokens"

    package func run() async throws {
        try SyncHost.open(in: folder, name: Self.schema, hasPartners: partners > 0).close()
        try await Self.withService(in: folder, sessionLimit: sessions + 1, hasPartners: partners > 0) { service in
            let writer = try await service.addSession(account: "ann")
            try await Self.push(rows, from: 0, through: service, token: writer)
            var tokens = [writer, try await service.addSession(account: "bob")]
            for _ in 0..<sessions { tokens.append(try await service.addSession(account: "ann")) }
            for number in 0..<partners { try await Self.addPartner(number, after: rows, to: "ann", service: service) }
            try Data(tokens.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: "\(folder)/\(Self.tokens)"))
        }
    }

    static func tokens(in folder: String) throws -> [String] {
        try String(contentsOfFile: "\(folder)/\(tokens)", encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Opens the server's database in this process.
    static func withService<Value>(
        in folder: String, sessionLimit: Int = 50, hasPartners: Bool = false,
        _ body: (SyncService) async throws -> Value
    ) async throws -> Value {
        let database = try SQLiteDatabase(path: "\(folder)/\(Self.database)")
        var options = SyncServiceOptions()
        options.sessionLimit = sessionLimit
        var schema = try SyncSchema(databaseAt: "\(folder)/\(Self.schema)")
        if hasPartners { schema.partners = .init("partner", from: "sharedByID", to: "sharedWithID") }
        let service = try await SyncService(database, schema: schema, options: options)
        do {
            let value = try await body(service)
            await database.close()
            return value
        } catch {
            await database.close()
            throw error
        }
    }

    /// Pushes notes as a device does. The next change of the session has the number `sequence + 1`.
    ///
    /// - Parameters:
    ///   - first: the number of the first note.
    ///   - sequence: the number of changes that the session has sent before.
    ///   - title: the title of the notes.
    static func push(
        _ count: Int, from first: Int, through service: SyncService, token: String, after sequence: Int? = nil,
        title: String = "Note"
    ) async throws {
        for start in stride(from: 0, to: count, by: batch) {
            let lines = (start..<min(start + batch, count)).map { offset in
                line(first + offset, sequence: (sequence ?? first) + offset + 1, title: title)
            }
            try await push(lines, through: service, token: token)
        }
    }

    /// Creates an account with a note, and grants another account read access.
    private static func addPartner(
        _ number: Int, after first: Int, to reader: String, service: SyncService
    ) async throws {
        let name = "partner\(number)"
        let token = try await service.addSession(account: name)
        guard let own = try await service.account(named: name), let other = try await service.account(named: reader)
        else { throw BenchError("An account was created but does not exist.") }
        let grant = """
            {"id":"2","seq":2,"type":"PartnerV1","op":"put","key":"\(own)-\(other)","data":{"sharedByID":"\(own)",\
            "sharedWithID":"\(other)"}}

            """
        try await push([line(first + number, sequence: 1, title: "Note"), grant], through: service, token: token)
    }

    private static func push(_ lines: [String], through service: SyncService, token: String) async throws {
        let reply = await service.push(Data(lines.joined().utf8), token: token)
        guard reply.status == 200, case .whole(let results) = reply.body,
            String(decoding: results, as: UTF8.self).components(separatedBy: "\"result\":\"applied\"").count
                == lines.count + 1
        else { throw BenchError("The server's store has not taken the rows: status \(reply.status).") }
    }

    private static let batch = 500

    /// Returns a push line of a note with about 300 bytes. The ids ascend like UUIDs of version 7.
    static func line(_ number: Int, sequence: Int, title: String) -> String {
        let random = (UInt64(number) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        let id =
            "\(hex(UInt64(number), digits: 8))-\(hex(random >> 48, digits: 4))-7000-8000-"
            + hex(random & 0xFFFF_FFFF_FFFF, digits: 12)
        let (minute, second) = (number / 60 % 60, number % 60)
        let createdAt =
            "2026-01-\(two(1 + number / 86_400 % 28)) \(two(number / 3_600 % 24)):\(two(minute)):\(two(second))"
        return """
            {"id":"\(sequence)","seq":\(sequence),"type":"NoteV1","op":"put","key":"\(id)","data":{\
            "title":"\(title) \(number)","body":"Buy bread, butter and a toaster, and bring them home before \
            the guests of tonight arrive.","createdAt":"\(createdAt)","rating":\(number % 6)}}

            """
    }

    private static func hex(_ value: UInt64, digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    private static func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
