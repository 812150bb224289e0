import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite("Busy mode of connections", .timeLimit(.minutes(10)))
struct BusyModeTests {
    private func timeout(_ database: any DatabaseWriter) async throws -> Int? {
        try await database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") }
    }

    @Test("A write of the app waits for another connection in GRDB's default mode")
    func waits() async throws {
        try await withHost { host in
            let begun = Latch()
            let isArmed = Mutex(false)
            var configuration = Configuration()
            configuration.prepareDatabase { db in
                db.trace { event in
                    if isArmed.withLock({ $0 }), "\(event)".hasPrefix("BEGIN IMMEDIATE") { begun.open() }
                }
            }
            let waiting = try DatabasePool(path: host.databasePath, configuration: configuration)
            var holdingConfiguration = Configuration()
            holdingConfiguration.allowsUnsafeTransactions = true
            let holding = try DatabasePool(path: host.databasePath, configuration: holdingConfiguration)
            try await withManager(host, on: waiting, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                isArmed.withLock { $0 = true }
                try await holding.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
                async let written: Void = waiting.write { try file.insert($0) }
                await begun.wait()
                try await holding.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
                try await written
                #expect(try host.count("lfs_file") == 1)
            }
            try waiting.close()
            try holding.close()
        }
    }

    @Test("A connection without a busy timeout gets one of ten seconds")
    func without() async throws {
        try await withHost { host in
            let pool = try DatabasePool(path: host.databasePath, configuration: Configuration())
            try await #expect(timeout(pool) == 0)
            try await withManager(host, on: pool, starts: false) { _ in
                try await #expect(timeout(pool) == 10_000)
                try await #expect(pool.read { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") } == 10_000)
            }
            try pool.close()
            let queue = try DatabaseQueue(path: host.databasePath, configuration: Configuration())
            try await withManager(host, on: queue, starts: false) { _ in
                try await #expect(timeout(queue) == 10_000)
            }
            try queue.close()
        }
    }

    @Test("A busy timeout that the app set is kept", arguments: [true, false])
    func kept(isOption: Bool) async throws {
        try await withHost { host in
            var configuration = Configuration()
            if isOption {
                configuration.busyMode = .timeout(3)
            } else {
                configuration.prepareDatabase { try $0.execute(sql: "PRAGMA busy_timeout = 3000") }
            }
            let pool = try DatabasePool(path: host.databasePath, configuration: configuration)
            try await withManager(host, on: pool, starts: false) { _ in
                try await #expect(timeout(pool) == 3_000)
            }
            try pool.close()
        }
    }
}

@Suite("Unusable connections", .timeLimit(.minutes(10)))
struct UnusableConnectionTests {
    @Test("A read-only connection is refused with an error that names LFSReader")
    func readOnly() async throws {
        try await withHost { host in
            try await withManager(host) { _ in }
            var configuration = Configuration()
            configuration.readonly = true
            let readOnly = try DatabasePool(path: host.databasePath, configuration: configuration)
            let error = await #expect(throws: LFSError.self) {
                _ = try await LFSManager.open(readOnly, options: host.options)
            }
            #expect(error?.code == .readOnly)
            #expect(error?.localizedDescription.contains("LFSReader") == true)
            _ = try await LFSReader(readOnly)
            try readOnly.close()
            // The failed open holds no resources.
            try await withManager(host) { _ in }
        }
    }

    /// Uses a pool, because observations of a closed `DatabaseQueue` fail an assertion of GRDB in debug builds
    /// ("unbalanced endReadOnly()").
    @Test("Calls on a closed connection fail with `closed`, and the manager stops")
    func closed() async throws {
        try await withHost { host in
            let database = try host.otherDatabase()
            let lfs = try await LFSManager.open(database, options: host.options)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try database.close()
            #expect(await errorCode { _ = try await lfs.status() } == .closed)
            #expect(await errorCode { _ = try await lfs.retry() } == .closed)
            #expect(await errorCode { _ = try await lfs.contents(of: file.id) } == .closed)
            try await lfs.stop()
            // The stopped manager holds no resources.
            try await withManager(host) { _ in }
        }
    }
}

@Suite("Localized errors", .timeLimit(.minutes(10)))
struct LocalizedErrorTests {
    @Test("An error has a localized message, and a recovery suggestion if the user can act")
    func alert() {
        let storage = StorageError(.unreachable, message: "The host cannot be found.")
        for error in [storage, LFSError(.storage, message: storage.message, cause: storage)] as [any LocalizedError] {
            #expect(error.localizedDescription == "The host cannot be found.")
            #expect(error.recoverySuggestion == "Check the network connection, then try again.")
        }
        let full = LFSError(.noSpace, message: "The disk is full.")
        #expect(full.localizedDescription == "The disk is full." && full.recoverySuggestion != nil)
        #expect(LFSError(.deleted, message: "It was deleted.").recoverySuggestion == nil)
    }
}
