import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Opening a database", .timeLimit(.minutes(10)))
struct OpeningTests {
    @Test("A database without the LFS tables is refused with `notMigrated`")
    func notMigrated() async throws {
        let database = try DatabaseQueue()
        let code = await errorCode {
            _ = try await LFSManager.open(database, options: LFSOptions(storage: InMemoryStorage()))
        }
        #expect(code == .notMigrated)
    }

    @Test(
        "A database with a newer schema is refused",
        arguments: [
            "UPDATE lfs_state SET schemaVersion = 99", "INSERT INTO grdb_migrations VALUES ('lfs.v99')",
        ])
    func newerSchema(change: String) async throws {
        try await withHost { host in
            try await host.database.write { try $0.execute(sql: change) }
            let code = await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
            #expect(code == .newerSchema)
            #expect(!FileManager.default.fileExists(atPath: host.store.path))
        }
    }

    @Test("A database with migrations of other modules opens")
    func otherMigrations() async throws {
        try await withHost { host in
            let sql = "INSERT INTO grdb_migrations VALUES ('lfs.sync.v1'), ('lfs.settings.v2'), ('lfs-host')"
            try await host.database.write { try $0.execute(sql: sql) }
            try await LFSManager.open(host.database, options: host.options).stop()
        }
    }

    @Test("A database with an older schema is refused until it is migrated")
    func olderSchema() async throws {
        try await withHost { host in
            try await host.database.write { try $0.execute(sql: "UPDATE lfs_state SET schemaVersion = 0") }
            let code = await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
            #expect(code == .notMigrated)
        }
    }

    /// The last migration of each released version of LFS and of the next one.
    static let migrations = ["lfs.v1", "lfs.v2", "lfs.v3", "lfs.v4", "lfs.v5"]

    @Test("A migrated database of every version opens and keeps its rows", arguments: migrations)
    func migration(from version: String) async throws {
        try await withTemporaryFolder { folder in
            let database = try TestHost.open(folder.appendingPathComponent("a.sqlite").path)
            try TestHost.migrator.migrate(database, upTo: version)
            let id = try #require(FileID("01000000-0000-7000-8000-000000000001"))
            try await database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                        VALUES (?, 'local', 1, ?, 'elsewhere/' || ?, 0)
                        """, arguments: [id, String(repeating: "0", count: 64), id])
            }
            try TestHost.migrator.migrate(database)
            let lfs = try await LFSManager.open(database, options: LFSOptions(storage: InMemoryStorage()))
            #expect(try await database.read { try FileData.fetchOne($0, key: id)?.status } == .local)
            try await lfs.stop()
            try database.close()
            #expect(TestHost.migrator.migrations.last { $0.hasPrefix("lfs.") } == Self.migrations.last)
        }
    }

    @Test("An in-memory database needs a folder for its store")
    func inMemory() async throws {
        try await withHost { host in
            let database = try DatabaseQueue()
            try TestHost.migrator.migrate(database)
            var options = host.options
            let code = await errorCode { _ = try await LFSManager.open(database, options: host.options) }
            #expect(code == .noLocalStore)
            options.localStore = host.folder.appendingPathComponent("store")
            try await withManager(host, options: options, on: database) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                #expect(try await database.read { try FileData.fetchOne($0)?.status } == .remote)
            }
        }
    }

    @Test("A connection has one manager at a time, and another one after a stop")
    func alreadyOpen() async throws {
        try await withHost { host in
            try await withManager(host) { _ in
                #expect(
                    await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
                        == .alreadyOpen)
            }
            try await withManager(host) { _ in }
        }
    }

    @Test("A manager that is released without a stop does not block its connection")
    func lostManager() async throws {
        try await withHost { host in
            weak var lost: LFSManager?
            do {
                let lfs = try await LFSManager.open(host.database, options: host.options)
                lost = lfs
                _ = try await lfs.makeFile(from: .bytes(someBytes()))
            }
            #expect(lost == nil)
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                let gone = try await lfs.makeFile(from: .bytes(someBytes()))
                try await lfs.discard(gone)
                #expect(await errorCode { try await host.database.write { try gone.insert($0) } } == .bytesMissing)
            }
        }
    }

    @Test("A store of another database is refused and left unchanged")
    func wrongStore() async throws {
        try await withHost { host in
            try await withManager(host) { _ in }
            try await withHost { other in
                var options = other.options
                options.localStore = host.store
                let code = await errorCode { _ = try await LFSManager.open(other.database, options: options) }
                #expect(code == .wrongStore)
            }
        }
    }

    @Test("A store that other users can write to is refused")
    func insecureStore() async throws {
        try await withHost { host in
            try await withManager(host) { _ in }
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: host.store.path)
            let code = await errorCode { _ = try await LFSManager.open(host.database, options: host.options) }
            #expect(code == .permissionDenied)
        }
    }

    @Test("The migrations do not make the app's migrator erase the database")
    func hostMigrator() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                let migrator = TestHost.erasingMigrator
                try migrator.migrate(host.database)
                #expect(try host.count("lfs_file") == 1)
                #expect(try await host.database.read { try !migrator.hasBeenSuperseded($0) })
                try await lfs.waitForUploads()
            }
        }
    }

    @Test("A manager runs once, and a stopped one makes no files and waits for none")
    func lifecycle() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            #expect(await errorCode { try await lfs.waitForUploads() } == .notRunning)
            try lfs.start()
            #expect(await errorCode { try lfs.start() } == .notRunning)
            try await lfs.waitForUploads()
            try await lfs.stop()
            try await lfs.stop()
            #expect(await errorCode { _ = try await lfs.makeFile(from: .bytes(someBytes())) } == .notRunning)
            #expect(await errorCode { try lfs.start() } == .notRunning)
        }
    }

    @Test("Cancelling run() stops the manager, and the next manager continues")
    func cancelledRun() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await lfs.run() }
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await yield(while: host.count("lfs_job") > 0)
                group.cancelAll()
                try await group.waitForAll()
            }
            try await withManager(host) { lfs in try await #expect(lfs.status().remote == 1) }
        }
    }

    @Test("Stopping ends the event stream")
    func eventsEnd() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            let events = lfs.events()
            try await lfs.stop()
            for await _ in events {}
            for await _ in lfs.events() {}
        }
    }
}
