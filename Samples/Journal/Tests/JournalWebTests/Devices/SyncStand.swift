import Foundation
import GRDB
import Hummingbird
import JournalStorage
import LFS
import LFSServer
import LFSStorage
import LFSSync
import LFSSyncServer
import LFSTesting
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import JournalWeb

/// A sync server in this process that keeps its port across restarts, and journals that sync through it.
final class SyncStand: Sendable {
    let folder: URL
    let storage = InMemoryStorage()
    private let running = Mutex<(port: Int, stop: (@Sendable () async throws -> Void)?)>((0, nil))

    init(folder: URL) { self.folder = folder }

    var url: String { "http://127.0.0.1:\(running.withLock { $0.port })" }

    static func schema(_ journal: URL) throws -> SyncSchema {
        var schema = try SyncSchema(databaseAt: journal.path)
        schema.containers = [.init("album", members: "album_member", links: "album_asset", of: "lfs_file")]
        schema.people = .init("user")
        return schema
    }

    // MARK: The server

    /// Starts the server and returns when it listens.
    func start() async throws {
        // The tables are those of a journal, as `--schema-from` reads them.
        let model = folder.appending(path: "model.sqlite")
        let pool = try DatabasePool(path: model.path)
        try DatabaseStorageService.migrate(pool)
        try pool.close()
        let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
        var options = SyncServiceOptions()
        options.namesAccounts = true
        let service = try await SyncService(database, schema: Self.schema(model), options: options)
        let router = Router()
        SyncRoutes(service).add(to: router.group("v1/sync"))
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: running.withLock { $0.port })),
            onServerRunning: { listening.yield($0.localAddress?.port ?? 0) },
            logger: Logger(label: "sync") { _ in LogBook() })
        let group = ServiceGroup(services: [application], logger: Logger(label: "sync") { _ in LogBook() })
        let task = Task {
            defer { listening.finish() }
            try await group.run()
        }
        var port = 0
        for await one in ports {
            port = one
            break
        }
        try #require(port > 0)
        running.withLock { running in
            running.port = port
            running.stop = {
                service.shutdown()
                await group.triggerGracefulShutdown()
                try await task.value
                await database.close()
            }
        }
    }

    func stop() async throws {
        let stop = running.withLock { running in
            let stop = running.stop
            running.stop = nil
            return stop
        }
        try await stop?()
    }

    /// Returns the token of a new session. It uses the database directly, so the server need not run.
    func token(_ account: String) async throws -> String {
        let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
        let service = try await SyncService(database, schema: Self.schema(folder.appending(path: "model.sqlite")))
        let token = try await service.addSession(account: account)
        await database.close()
        return token
    }

    // MARK: Devices

    /// Serves a journal of an account, which syncs until the body ends.
    func device(
        _ name: String, account: String = "ann", _ body: (WebSubject) async throws -> Void
    ) async throws {
        let token = Token(try await token(account))
        try await device(name, token: token, body)
    }

    func device(_ name: String, token: Token, _ body: (WebSubject) async throws -> Void) async throws {
        let storage = storage
        var options = SyncOptions(server: try #require(URL(string: url))) { token.text }
        options.allowsPlainHTTP = true
        try await withWeb(storage: storage, sync: options, { _ in }, body)
    }

    /// A token that can be replaced.
    final class Token: Sendable {
        private let value: Mutex<String>
        init(_ text: String) { value = Mutex(text) }
        var text: String { value.withLock { $0 } }
        func replace(_ text: String) { value.withLock { $0 = text } }
    }
}

/// Runs a server while the body runs.
func withStand(_ body: (SyncStand) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "journal-sync-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let stand = SyncStand(folder: folder)
    try await stand.start()
    do {
        try await body(stand)
    } catch {
        try await stand.stop()
        throw error
    }
    try await stand.stop()
}

/// Runs the body with two devices of one account.
func withTwoDevices(_ body: (SyncStand, WebSubject, WebSubject) async throws -> Void) async throws {
    try await withStand { stand in
        try await stand.device("one") { one in
            try await stand.device("two") { two in
                try await body(stand, try await one.visiting(), try await two.visiting())
            }
        }
    }
}

extension WebSubject {
    /// Waits until a condition holds, and checks it after each change of the journal's tables.
    ///
    /// The suite's time limit ends the wait.
    func until(_ isThere: @escaping @Sendable (WebSubject) async throws -> Bool) async throws {
        let region = DatabaseRegion.fullDatabase
        let changes = ValueObservation.tracking(region: region) { db in
            try Int.fetchOne(db, sql: "SELECT total_changes()") ?? 0
        }
        for try await _ in changes.values(in: journal.database, bufferingPolicy: .bufferingNewest(1)) {
            if try await isThere(self) { return }
        }
    }

    /// Waits until a page contains a text. It checks the page again after each event for open pages.
    func shows(_ path: String, text: String) async throws {
        try await address.wait(for: text, cookie: cookie) { try await get(path).text }
    }
}
