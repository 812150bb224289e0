import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Idle manager", .timeLimit(.minutes(10)))
struct IdleTests {
    /// Runs a test with a host whose connections report every statement.
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

    /// Returns when SQLite was asked this many times for changes.
    private func looks(_ count: Int, log: StatementLog) async throws {
        try await yield(while: log.count("data_version") < count)
    }

    @Test("An idle manager only asks SQLite for changes and reads no table")
    func readsNothing() async throws {
        try await withTracedHost { host, log in
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
                // The wake-ups of the upload cause one more read.
                log.clear()
                try await looks(5, log: log)
                log.clear()
                try await looks(20, log: log)
                #expect(log.ofLFS == [])
            }
        }
    }

    @Test("An idle manager sees inserts and deletes of another connection")
    func seesOthers() async throws {
        try await withTracedHost { host, log in
            try await withManager(host) { lfs in
                log.clear()
                try await looks(5, log: log)
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

    @Test("An idle manager reads its tables again when the wall clock is changed")
    func clock() async throws {
        try await withTracedHost { host, log in
            let time = TestTime(Date())
            var options = host.options
            options.wallClock = { time.now }
            try await withManager(host, options: options) { _ in
                log.clear()
                try await looks(5, log: log)
                log.clear()
                time.now.addTimeInterval(3_600)
                try await yield(while: log.ofLFS.isEmpty)
            }
        }
    }

    @Test("A manager without a poll interval never polls and sees the app's own commits")
    func noPolling() async throws {
        try await withTracedHost { host, log in
            let clock = ManualClock()
            var options = host.options
            options.clock = clock
            options.pollInterval = .zero
            try await withManager(host, options: options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await yield(while: host.file(file.id)?.status != .remote)
                try await yield(while: host.filesInStore().isEmpty)
                _ = try await host.database.write { try file.delete($0) }
                try await yield(while: host.count("lfs_tombstone") > 0 || !host.filesInStore().isEmpty)
                #expect(log.count("data_version") == 0)
                #expect(!clock.remaining.contains { $0 <= .seconds(1) })
            }
        }
    }

    @Test("A manager without a poll interval takes over when another one ends")
    func takesOver() async throws {
        try await withTracedHost { host, _ in
            let clock = ManualClock()
            var options = host.options
            options.clock = clock
            options.pollInterval = .zero
            let first = try await LFSManager.open(host.otherDatabase(), options: host.options)
            try first.start()
            let sign = try await first.makeFile(from: .bytes(someBytes()))
            try await host.otherDatabase().write { try sign.insert($0) }
            try await first.waitForUploads()
            try await withManager(host, options: options) { lfs in
                await clock.waitForSleepers { $0.contains(.seconds(1)) }
                try await first.stop()
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                let time = Task { await clock.runFreely() }
                try await yield(while: host.file(file.id)?.status != .remote)
                time.cancel()
                await time.value
            }
        }
    }
}
