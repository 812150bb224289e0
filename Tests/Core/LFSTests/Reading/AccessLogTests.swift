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

@Suite("Last uses of local copies", .timeLimit(.minutes(10)))
struct AccessLogTests {
    private func lastUsed(_ id: FileData.ID, host: TestHost) throws -> Int64? {
        try host.database.read { db in
            try Int64.fetchOne(db, sql: "SELECT lastUsed FROM lfs_copy WHERE fileID = ?", arguments: [id])
        }
    }

    @Test("Uses are kept in memory and written when the manager stops")
    func noWrites() async throws {
        try await withHost { host in
            var options = host.options
            options.wallClock = { Date(timeIntervalSince1970: 1_800_000_000) }
            var files: [FileData] = []
            try await withManager(host, options: options) { lfs in
                files = try await remoteFiles([someBytes(), someBytes(), someBytes()], host: host, lfs: lfs)
                for _ in 0..<100 {
                    _ = try await lfs.contents(of: files[0])
                    _ = try await lfs.localURL(of: files[1])
                }
                #expect(try host.count("lfs_copy") == 0)
                try await #expect(lfs.uses.lastUse(of: files[0].id) == options.wallClock())
                try await #expect(lfs.uses.lastUse(of: files[2].id) == nil)
            }
            #expect(try lastUsed(files[0].id, host: host) == 1_800_000_000_000)
            #expect(try lastUsed(files[1].id, host: host) == 1_800_000_000_000)
            #expect(try lastUsed(files[2].id, host: host) == nil)
        }
    }

    @Test("Uses are written after an interval", arguments: [false, true])
    func interval(_ isPrefetched: Bool) async throws {
        try await withLFS(configure: { $0.useInterval = .milliseconds(1) }) { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            if isPrefetched {
                try await lfs.prefetch(FileData.all())
            } else {
                _ = try await lfs.bytes(of: file, range: 0..<1)
                #expect(try host.count("lfs_copy") == 0, "a range from the storage does not count as use of a copy")
                _ = try await lfs.contents(of: file)
            }
            try await yield(while: lastUsed(file.id, host: host) == nil)
            try await #expect(lfs.uses.lastUse(of: file.id) != nil)
        }
    }

    @Test("A flush writes all uses, even while another flush runs")
    func flush() async throws {
        try await withHost { host in
            let now = Date(timeIntervalSince1970: 1_000)
            let uses = AccessLog(runner: BackgroundRunner(host.database), wallClock: { now })
            let ids = (0..<1_200).map { _ in FileID.make() }
            try await host.database.write { db in
                // The statement is compiled once, because compiling it with its triggers costs more than running it.
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
            #expect(try host.count("lfs_copy WHERE lastUsed = 1000000") == 1_199, "only copies with a row")
        }
    }

    @Test("The last use never goes back, except from a time in the future", arguments: [(500, 1_000), (1_500, 1_000)])
    func otherProcess(_ written: Int64, expected: Int64) async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            let runner = BackgroundRunner(host.database)
            for (note, now) in [(written, written), (1_000, 1_000), (900, 1_000)] {
                let (stamp, clock) = (Date(millisecondsSince1970: note), Date(millisecondsSince1970: now))
                let isFirst = Once()
                let uses = AccessLog(runner: runner, wallClock: { isFirst.take() ? stamp : clock })
                uses.noteUse(of: file.id)
                try await uses.flush()
            }
            #expect(try lastUsed(file.id, host: host) == expected)
        }
    }

    @Test("Uses that cannot be written are kept and written later")
    func failure() async throws {
        try await withLFS { host, lfs in
            let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
            let uses = AccessLog(runner: BackgroundRunner(host.database), wallClock: { Date(timeIntervalSince1970: 7) })
            try await host.database.write { try $0.execute(sql: "ALTER TABLE lfs_copy RENAME TO away") }
            uses.noteUse(of: file.id)
            await #expect(throws: DatabaseError.self) { try await uses.flush() }
            try await host.database.write { try $0.execute(sql: "ALTER TABLE away RENAME TO lfs_copy") }
            try await uses.flush()
            #expect(try lastUsed(file.id, host: host) == 7_000)
        }
    }

    @Test("Uses are written when the task of run() is cancelled")
    func cancelledRun() async throws {
        try await withHost { host in
            let file = try await withRunning(host) { lfs in
                let file = try await remoteFiles([someBytes()], host: host, lfs: lfs)[0]
                _ = try await lfs.contents(of: file)
                #expect(try host.count("lfs_copy") == 0)
                return file
            }
            #expect(try lastUsed(file.id, host: host) != nil)
        }
    }

    /// Runs the body with a manager in `run()`, whose task is cancelled afterwards.
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
