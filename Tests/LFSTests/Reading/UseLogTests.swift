import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("The last use of local copies", .timeLimit(.minutes(10)))
struct UseLogTests {
    private func lastUsed(_ id: FileData.ID, _ host: TestHost) throws -> Int64? {
        try host.database.read { db in
            try Int64.fetchOne(db, sql: "SELECT lastUsed FROM lfs_copy WHERE fileID = ?", arguments: [id])
        }
    }

    @Test("is noted without a write for each, and written at the stop")
    func noWrites() async throws {
        try await withHost { host in
            var options = host.options
            options.wallClock = { Date(timeIntervalSince1970: 1_800_000_000) }
            var files: [FileData] = []
            try await withManager(host, options) { lfs in
                files = try await remoteFiles([someBytes(), someBytes(), someBytes()], host, lfs)
                for _ in 0..<100 {
                    _ = try await lfs.contents(of: files[0])
                    _ = try await lfs.localURL(of: files[1])
                }
                #expect(try host.count("lfs_copy") == 0)
                try await #expect(lfs.uses.lastUse(of: files[0].id) == options.wallClock())
                try await #expect(lfs.uses.lastUse(of: files[2].id) == nil)
            }
            #expect(try lastUsed(files[0].id, host) == 1_800_000_000_000)
            #expect(try lastUsed(files[1].id, host) == 1_800_000_000_000)
            #expect(try lastUsed(files[2].id, host) == nil)
        }
    }

    @Test("is written a while after the first one that is not", arguments: [false, true])
    func interval(_ isPrefetched: Bool) async throws {
        try await withLFS(configure: { $0.useInterval = .milliseconds(1) }) { host, lfs in
            let file = try await remoteFile(someBytes(), host, lfs)
            if isPrefetched {
                try await lfs.prefetch(FileData.all())
            } else {
                _ = try await lfs.bytes(of: file, range: 0..<1)
                #expect(try host.count("lfs_copy") == 0, "what comes from the storage is no use of a copy")
                _ = try await lfs.contents(of: file)
            }
            try await yield(while: lastUsed(file.id, host) == nil)
            try await #expect(lfs.uses.lastUse(of: file.id) != nil)
        }
    }

    @Test("is there for whoever flushes, also while another flush is under way")
    func flush() async throws {
        try await withHost { host in
            let now = Date(timeIntervalSince1970: 1_000)
            let uses = UseLog(runner: BackgroundRunner(host.database), wallClock: { now })
            let ids = (0..<1_200).map { _ in FileID.make() }
            try await host.database.write { db in
                // Compiled once: with its triggers that costs more than running it.
                let statement = try db.makeStatement(
                    sql: """
                        INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                        VALUES (?, 'remote', 'memory:///', 1, ?, 'x/' || ?, 0)
                        """)
                for id in ids.dropLast() {
                    try statement.execute(arguments: [id, String(repeating: "0", count: 64), id])
                }
            }
            for id in ids { uses.noteUse(of: id) }
            async let first: Void = uses.flush()
            async let second: Void = uses.flush()
            _ = try await (first, second)
            #expect(try host.count("lfs_copy WHERE lastUsed = 1000000") == 1_199, "those that have a row")
        }
    }

    @Test("never goes back, but for a time that is still to come", arguments: [(500, 1_000), (1_500, 1_000)])
    func otherProcess(_ written: Int64, _ expected: Int64) async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(someBytes(), host, lfs)
            let runner = BackgroundRunner(host.database)
            for (note, now) in [(written, written), (1_000, 1_000), (900, 1_000)] {
                let (stamp, clock) = (Date(millisecondsSince1970: note), Date(millisecondsSince1970: now))
                let isFirst = Once()
                let uses = UseLog(runner: runner, wallClock: { isFirst.take() ? stamp : clock })
                uses.noteUse(of: file.id)
                try await uses.flush()
            }
            #expect(try lastUsed(file.id, host) == expected)
        }
    }

    @Test("is kept when it cannot be written, until it can")
    func failure() async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(someBytes(), host, lfs)
            let uses = UseLog(runner: BackgroundRunner(host.database), wallClock: { Date(timeIntervalSince1970: 7) })
            try await host.database.write { try $0.execute(sql: "ALTER TABLE lfs_copy RENAME TO away") }
            uses.noteUse(of: file.id)
            await #expect(throws: DatabaseError.self) { try await uses.flush() }
            try await host.database.write { try $0.execute(sql: "ALTER TABLE away RENAME TO lfs_copy") }
            try await uses.flush()
            #expect(try lastUsed(file.id, host) == 7_000)
        }
    }

    @Test("is written too when run() ends by a cancellation")
    func cancelledRun() async throws {
        try await withHost { host in
            let file = try await withRunning(host) { lfs in
                let file = try await remoteFiles([someBytes()], host, lfs)[0]
                _ = try await lfs.contents(of: file)
                #expect(try host.count("lfs_copy") == 0)
                return file
            }
            #expect(try lastUsed(file.id, host) != nil)
        }
    }

    /// A manager in `run()`, whose task is cancelled afterwards.
    private func withRunning(
        _ host: TestHost, _ body: (LFSManager) async throws -> FileData
    ) async throws -> FileData {
        let lfs = try await LFSManager.open(host.database, options: host.options)
        let running = Task { try await lfs.run() }
        try await yield(while: !lfs.lifecycle.isRunning)
        let file = try await body(lfs)
        running.cancel()
        try await running.value
        return file
    }
}
