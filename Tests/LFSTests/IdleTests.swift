import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("An idle manager", .timeLimit(.minutes(10)))
struct IdleTests {
    /// A host whose connections tell every statement that they run.
    private func withTracedHost(_ body: (TestHost, StatementLog) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let log = StatementLog()
            var configuration = Configuration()
            configuration.prepareDatabase { db in db.trace { log.add("\($0)") } }
            let path = folder.appendingPathComponent("recipes.sqlite").path
            let database = try DatabasePool(path: path, configuration: configuration)
            try TestHost.migrator.migrate(database)
            try await body(TestHost(folder: folder, database: database, storage: InMemoryStorage()), log)
            try database.close()
        }
    }

    /// Returns when the database was asked this often whether it has changed.
    private func looks(_ count: Int, _ log: StatementLog) async throws {
        try await yield(while: log.count("data_version") < count)
    }

    @Test("reads no table of its own: it asks SQLite whether anything has changed, and that is all")
    func readsNothing() async throws {
        try await withTracedHost { host, log in
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                // What the upload has rung for is read once more.
                log.clear()
                try await looks(5, log)
                log.clear()
                try await looks(20, log)
                #expect(log.ofLFS == [])
            }
        }
    }

    @Test("sees what another connection has inserted or deleted")
    func seesOthers() async throws {
        try await withTracedHost { host, log in
            try await withManager(host) { lfs in
                log.clear()
                try await looks(5, log)
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                let other = try host.otherDatabase()
                try await other.write { try file.insert($0) }
                try await yield(while: host.file(file.id)?.status != .remote)
                _ = try await other.write { try file.delete($0) }
                try await yield(while: host.count("lfs_tombstone") > 0)
                #expect(try host.filesInStore().isEmpty)
                try other.close()
            }
        }
    }

    @Test("looks again when the clock on the wall was set")
    func clock() async throws {
        try await withTracedHost { host, log in
            let time = TestTime(Date())
            var options = host.options
            options.wallClock = { time.now }
            try await withManager(host, options) { _ in
                log.clear()
                try await looks(5, log)
                log.clear()
                time.now.addTimeInterval(3_600)
                try await yield(while: log.ofLFS.isEmpty)
            }
        }
    }
}
