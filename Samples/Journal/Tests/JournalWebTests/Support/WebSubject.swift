import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSBackup
import LFSCache
import LFSSettings
import LFSStorage
import LFSSync
import Logging
import ServiceLifecycle
import Testing

/// A journal that is served on a free local port, and a browser session with it.
struct WebSubject: Sendable {
    let journal: DatabaseStorageService
    let address: ListenAddress
    let folder: URL
    let logs: LogBook
    let settings: StorageRouter
    /// The cache, or nil if no thumbnails are made.
    let cache: MediaCache?
    /// The session cookie. `token` is the token of the forms.
    var cookie = ""
    var token = ""

    var origin: String { "http://\(address)" }

    // MARK: Requests

    /// Sends the bytes unchanged, and reads until the server closes the connection.
    func send(_ bytes: Data) async throws -> HTTPReply? {
        let port = address.port
        return try await blocking {
            let connection = try RawConnection(port: port)
            connection.send(bytes)
            return HTTPReply(try connection.readToEnd())
        }
    }

    func send(
        _ method: String, path: String, headers: [String: String] = [:], body: Data = Data()
    ) async throws -> HTTPReply {
        var fields = ["Host": "\(address)", "Connection": "close", "Cookie": cookie, "Accept": "text/html"]
        if method == "POST" { fields["Origin"] = origin }
        if !body.isEmpty { fields["Content-Length"] = "\(body.count)" }
        fields.merge(headers) { _, new in new }
        let lines = fields.filter { !$1.isEmpty }.map { "\($0): \($1)\r\n" }.sorted().joined()
        return try #require(try await send(Data("\(method) \(path) HTTP/1.1\r\n\(lines)\r\n".utf8) + body))
    }

    func get(_ path: String, headers: [String: String] = [:]) async throws -> HTTPReply {
        try await send("GET", path: path, headers: headers)
    }

    func post(
        _ path: String, fields: [(String, String)] = [], headers: [String: String] = [:]
    ) async throws -> HTTPReply {
        let pairs = ([("token", token)] + fields).map { name, value in
            "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
        }
        let type = ["Content-Type": "application/x-www-form-urlencoded"].merging(headers) { _, new in new }
        return try await send("POST", path: path, headers: type, body: Data(pairs.joined(separator: "&").utf8))
    }

    func upload(
        _ bytes: Data, to record: TimeRecord, type: String = "image/png", headers: [String: String] = [:]
    ) async throws -> HTTPReply {
        let fields = ["Content-Type": type, "X-Journal-Token": token, "Accept": "application/json"]
        return try await send(
            "POST", path: "\(path(record))/pictures", headers: fields.merging(headers) { _, new in new }, body: bytes)
    }

    func path(_ record: TimeRecord) -> String { "/records/\(record.id.uuidString.lowercased())" }

    /// Loads a page as a browser does on its first visit.
    func visiting(_ path: String = "/") async throws -> WebSubject {
        var subject = self
        let page = try await get(path)
        subject.cookie = String(try #require(page.header("Set-Cookie")).prefix { $0 != ";" })
        subject.token = try #require(page.text.firstMatch(of: /data-token="([0-9a-f]{64})"/)).1.description
        return subject
    }

    // MARK: Contents

    func record(_ comment: String = "Walk", end: Bool = true) async throws -> TimeRecord {
        let start = Date(timeIntervalSince1970: 1_770_000_000)
        let record = TimeRecord(
            start: start, end: end ? start.addingTimeInterval(3_600) : nil, timeZone: .gmt, comment: comment)
        try await journal.saveRecord(record)
        return record
    }

    /// Returns the id of the file of a record's picture.
    func file(_ name: String, of record: TimeRecord) async throws -> String {
        "\(try await journal.imageFile(filename: name, for: record).id)"
    }

    /// Returns bytes that start like a PNG.
    static func picture(_ count: Int = 2_000, seed: UInt8 = 1) -> Data {
        Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
            + Data((8..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed })
    }
}

/// A closure that creates the backup of a journal in a folder.
struct BackupMaker {
    let make: (DatabaseStorageService, StorageRouter, URL) -> FolderBackup
}

/// Serves a journal in a new folder while the body runs, and then stops it as after a signal.
func withWeb(
    storage: any RemoteStorage = InMemoryStorage(), sync: SyncOptions? = nil, makesThumbnails: Bool = false,
    backup maker: BackupMaker? = nil,
    _ change: (inout WebOptions) -> Void = { _ in },
    _ body: (WebSubject) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "journal-web-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let logs = LogBook()
    var options = WebOptions()
    options.address = ListenAddress(host: "127.0.0.1", port: 0)
    options.timeZone = .gmt
    options.logger = Logger(label: "test") { _ in logs }
    change(&options)
    let journal = try await DatabaseStorageService.open(
        at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: storage))
    let cache = makesThumbnails ? try await MediaCache.open(for: journal.database) : nil
    let (addresses, listening) = AsyncStream.makeStream(of: ListenAddress.self)
    var devices: DeviceSync?
    if let sync {
        devices = try await DeviceSync(journal, options: sync, retryDelay: .milliseconds(50), logger: options.logger)
    }
    let settings = try await JournalSettings.open(
        journal.database, secrets: SecretsFolder(folder.appending(path: "state").path))
    let backup = maker?.make(journal, settings, folder)
    let server = try await JournalServer(
        journal, settings: settings, options: options, cache: cache, sync: devices, backup: backup
    ) { address in
        listening.yield(address)
    }
    let services: [any Service] = [journal.lfs] + [devices].compactMap { $0 } + [backup].compactMap { $0 } + [server]
    let group = ServiceGroup(services: services, logger: options.logger)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask {
            defer { listening.finish() }
            try await group.run()
        }
        var first: ListenAddress?
        for await address in addresses {
            first = address
            break
        }
        let result: Result<Void, any Error>
        do {
            let address = try #require(first)
            result = .success(
                try await body(
                    WebSubject(
                        journal: journal, address: address, folder: folder, logs: logs, settings: settings, cache: cache
                    )))
        } catch {
            result = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        await cache?.close()
        try await journal.close()
        try result.get()
    }
}

/// Runs the body with a temporary folder.
func withFolder(_ body: (URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "journal-web-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    try await body(folder)
}
