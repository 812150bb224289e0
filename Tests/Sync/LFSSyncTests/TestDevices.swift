import Foundation
import GRDB
import LFS
import LFSHTTP
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

/// A server in this process and devices that reach it through requests like those of a network.
struct TestSync: Sendable {
    let folder: URL
    let service: SyncService
    let serverDatabase: SQLiteDatabase

    static let schema = SyncSchema(tables: [
        .init(
            "recipe",
            columns: [
                .init("title", kind: .text, isRequired: true), .init("servings", kind: .integer),
                .init("photoID", kind: .text, parent: .init("lfs_file", onDelete: .setNull)),
            ]),
        .init(
            "step",
            columns: [
                .init("recipeID", kind: .text, isRequired: true, parent: .init("recipe", onDelete: .cascade)),
                .init("text", kind: .text),
            ]),
    ])

    /// Runs a body with a server.
    ///
    /// - Parameter isQuick: true if the data may stay in memory and no migration runs.
    static func run(
        isQuick: Bool = false, schema: SyncSchema = Self.schema, options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestSync) async throws -> Void
    ) async throws {
        let memory = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
        let isThere = FileManager.default.isWritableFile(atPath: memory.path)
        let parent = isQuick && isThere ? memory : FileManager.default.temporaryDirectory
        try await withTemporaryFolder(in: parent) { folder in
            let path = folder.appending(path: "server.sqlite").path
            let isCopy = isQuick && schema == Self.schema
            let database = try isCopy ? await MigratedCopies.server(at: path) : SQLiteDatabase(path: path)
            let service = try await SyncService(database, schema: schema, options: options)
            try await body(TestSync(folder: folder, service: service, serverDatabase: database))
            await database.close()
        }
    }

    /// Writes on the server like another program.
    func execute(_ sql: String) async throws { try await serverDatabase.write { try $0.run(script: sql) } }

    @Sendable static func recipes(_ db: Database) throws {
        try db.create(table: "recipe") { table in
            table.primaryKey("id", .text)
            table.column("title", .text).notNull()
            table.column("servings", .integer).check { $0 == nil || $0 < 1_000 }
            table.column("photoID", .text).references("lfs_file", onDelete: .setNull)
        }
        try db.create(table: "step") { table in
            table.primaryKey("id", .text)
            table.column("recipeID", .text).notNull().references("recipe", onDelete: .cascade)
            table.column("text", .text)
        }
        try SyncedTable.install("recipe", in: db)
        try SyncedTable.install("step", in: db)
    }

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - isQuick: true if its database is in memory.
    ///   - place: the folder of its database. The default is the server's folder.
    ///   - tables: a body that makes and installs the app's tables. The default is ``recipes(_:)``.
    func device(
        _ name: String, account: String = "ann", isQuick: Bool = false, in place: URL? = nil,
        tables: (@Sendable (Database) throws -> Void)? = nil
    ) async throws -> Device {
        let token = try await service.addSession(account: account, device: name)
        let database: any DatabaseWriter
        if isQuick, tables == nil {
            database = try MigratedCopies.device()
        } else {
            let path = (place ?? folder).appending(path: "\(name).sqlite").path
            database = try isQuick ? DatabaseQueue() : DatabasePool(path: path)
            try Self.migrate(database, tables ?? Self.recipes)
        }
        let transport = ServiceTransport(service)
        return Device(
            database: database, client: try await Self.client(database, transport: transport, token: token),
            transport: transport,
            token: token)
    }

    static func migrate(
        _ database: any DatabaseWriter, _ tables: @escaping @Sendable (Database) throws -> Void
    ) throws {
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("recipes", migrate: tables)
        try migrator.migrate(database)
    }

    static func client(
        _ database: any DatabaseWriter, transport: ServiceTransport, token: String
    ) async throws -> SyncClient {
        var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { token })
        options.transport = transport
        return try await SyncClient.open(database, options: options)
    }

    struct Device: Sendable {
        let database: any DatabaseWriter
        let client: SyncClient
        let transport: ServiceTransport
        let token: String

        func execute(_ sql: String) async throws { try await database.write { try $0.execute(sql: sql) } }

        /// Adds a function for triggers that fails like a disk and names no row.
        func breakDisk() async throws {
            let function = DatabaseFunction("broken_disk", argumentCount: 0) { _ in
                throw DatabaseError(resultCode: .SQLITE_IOERR)
            }
            try await database.write { $0.add(function: function) }
        }

        @discardableResult func sync() async throws -> SyncReport { try await client.synchronize() }

        /// Returns the rows of a query, each with its values separated by bars.
        func rows(_ sql: String) async throws -> [String] {
            // One statement needs no transaction.
            try await database.unsafeRead { db in
                try Row.fetchAll(db.cachedStatement(sql: sql)).map { row in
                    row.databaseValues.map { $0.isNull ? "NULL" : "\($0.storage.value ?? "")" }.joined(separator: "|")
                }
            }
        }
    }
}

/// A transport that passes requests to a service and delivers its replies in pieces of any size.
///
/// The mutex owns the faults.
final class ServiceTransport: HTTPTransport {
    struct Faults: Sendable {
        /// The number of bytes of a stream after which the connection ends.
        var cutsStreamAfter: Int?
        /// Indicates that the next reply is lost after the server has processed the request.
        var losesReply = false
        /// The path whose next reply is lost.
        var losesReplyOf: String?
        /// Indicates that the server refuses every push as busy.
        var refusesPushes = false
        /// The number of bytes in a piece.
        var pieceSize = 1 << 16
        /// Latches that hold a stream before the server reads anything for it.
        var holdsStream: (isThere: Latch, goOn: Latch)?
        /// Latches that hold the first bytes that the server has read for the next stream.
        var holdsPage: (isThere: Latch, goOn: Latch)?
        /// Indicates that a cut stream ends like a complete one.
        var cutsCleanly = false
    }

    let faults = Mutex(Faults())
    /// The number of bytes of all streams so far.
    let streamed = Mutex(0)
    /// The targets that were requested as gzip.
    let packed = Mutex<Set<String>>([])
    /// The current server, which may be replaced by another version.
    let current: Mutex<SyncService>

    init(_ service: SyncService) { current = Mutex(service) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let token = request.headers["authorization"].map { String($0.dropFirst("Bearer ".count)) }
        if request.acceptsGzip { packed.withLock { _ = $0.insert(request.target) } }
        var body = Data()
        if case .bytes(let bytes) = request.body { body = Data(bytes) }
        let service = current.withLock { $0 }
        let reply: SyncReply
        switch request.target {
        case "/v1/sync/schema" where request.method == .get: reply = await service.types(token: token)
        case _ where request.method != .post: throw HTTPError(.invalidRequest, message: "\(request.method)")
        case "/v1/sync/stream": reply = await service.stream(body, token: token)
        case "/v1/sync/ack": reply = await service.acknowledge(body, token: token)
        case "/v1/sync/account": reply = await service.account(body, token: token)
        case "/v1/sync/digest": reply = await service.digest(body, token: token)
        case "/v1/sync/push" where faults.withLock(\.refusesPushes):
            reply = SyncReply(WireFailure(.unavailable, message: "Later.", retryAfter: 7))
        case "/v1/sync/push": reply = await service.push(body, token: token)
        default: throw HTTPError(.invalidRequest, message: "There is no \(request.target).")
        }
        let isLost = faults.withLock { faults in
            let isThis = faults.losesReplyOf == request.target
            if isThis { faults.losesReplyOf = nil }
            return faults.losesReply.exchange(false) || isThis
        }
        if isLost { throw HTTPError(.connectionLost, message: "Gone.") }
        var headers = HTTPHeaders()
        for (name, value) in reply.headers { try headers.set(name, value: value) }
        let head = HTTPResponseHead(status: reply.status, headers: headers)
        switch reply.body {
        case .none: return HTTPResponse(head: head, body: [], bytesSent: Int64(body.count))
        case .whole(let data):
            guard case .sink(let sink, _, let accept) = request.reply, accept(head) else {
                return HTTPResponse(head: head, body: Array(data), bytesSent: Int64(body.count))
            }
            try await deliver(Array(data), sink: sink)
        case .stream(let stream):
            guard case .sink(let sink, _, let accept) = request.reply, accept(head) else {
                throw HTTPError(.invalidReply, message: "Nobody takes the stream.")
            }
            // Like a network, the stream continues independently of the requesting task.
            try await Task {
                if let hold = self.faults.withLock({ $0.holdsStream }) {
                    hold.isThere.open()
                    await hold.goOn.wait()
                }
                for try await piece in stream {
                    if let hold = self.faults.withLock({ $0.holdsPage.take() }) {
                        hold.isThere.open()
                        await hold.goOn.wait()
                    }
                    try await self.deliver(piece, sink: sink)
                }
            }.value
        }
        return HTTPResponse(head: head, body: [], bytesSent: Int64(body.count))
    }

    private func deliver(_ bytes: [UInt8], sink: @escaping ResponseBody.Sink) async throws {
        let (size, cut) = faults.withLock { ($0.pieceSize, $0.cutsStreamAfter) }
        var start = 0
        while start < bytes.count {
            var end = min(start + size, bytes.count)
            if let cut { end = min(end, start + cut - streamed.withLock { $0 }) }
            let piece = Array(bytes[start..<max(start, end)])
            try await BlockingPool.sinks.run { _ in try piece.withUnsafeBytes { try sink($0) } }
            streamed.withLock { $0 += piece.count }
            start += piece.count
            guard let cut, streamed.withLock({ $0 }) >= cut else { continue }
            if faults.withLock(\.cutsCleanly) { return }
            throw HTTPError(.connectionLost, message: "Cut.")
        }
    }

    func shutdown() async {}
}

extension Bool {
    fileprivate mutating func exchange(_ new: Bool) -> Bool {
        defer { self = new }
        return self
    }
}
