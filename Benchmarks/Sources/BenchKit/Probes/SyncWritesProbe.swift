import Foundation
import GRDB
import LFSSync
import Synchronization

/// The app's own writes in this process, idle and while a first sync brings rows. The server is another process.
package struct SyncWritesProbe: Sendable {
    package var server: String
    /// Where ``SyncMaker`` has made the server's database.
    package var source: String
    /// Which of the account's sessions is used.
    package var session: Int
    /// Where the device's database is made.
    package var folder: String
    /// How many are measured while nothing comes.
    package var writes: Int
    /// Between the end of a write and the next one.
    package var pause: Duration

    package init(server: String, source: String, session: Int, folder: String, writes: Int, pause: Duration) {
        (self.server, self.source, self.session) = (server, source, session)
        (self.folder, self.writes, self.pause) = (folder, writes, pause)
    }

    package func run() async throws -> SyncWritesSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, ["--requests-per-second", "100000"])
        defer { server.stop() }
        let device = try SyncHost.open(in: folder)
        try await device.write { try $0.execute(sql: "CREATE TABLE own (id INTEGER PRIMARY KEY, text TEXT NOT NULL)") }
        let client = try await FirstSyncProbe.client(device, server, tokens[session + 2])
        _ = try await write(device, while: { $0 < 50 })
        let before = try await write(device, while: { $0 < (writes + 1) / 2 })
        let isOver = Atomic(false)
        let start = ContinuousClock.now
        async let report = Self.synchronize(client) { isOver.store(true, ordering: .relaxed) }
        let during = try await write(device, while: { _ in !isOver.load(ordering: .relaxed) })
        let rows = try await report.received
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = try await write(device, while: { $0 < writes / 2 })
        await client.shutdown()
        guard let idle = Latencies(before + after), let beside = Latencies(during) else {
            throw BenchError("The sync was over before a write was: more --rows.")
        }
        return SyncWritesSample(rows: rows, seconds: seconds, idle: idle, beside: beside)
    }

    private static func synchronize(_ client: SyncClient, onEnd: @Sendable () -> Void) async throws -> SyncReport {
        defer { onEnd() }
        return try await client.synchronize()
    }

    private func write(_ device: DatabasePool, while isGoingOn: (Int) -> Bool) async throws -> [Double] {
        var seconds: [Double] = []
        while isGoingOn(seconds.count) {
            let start = ContinuousClock.now
            try await device.write { db in
                try db.execute(
                    sql: "INSERT INTO own (text) VALUES (?)", arguments: ["Buy bread, butter and a toaster."])
            }
            seconds.append((ContinuousClock.now - start) / .seconds(1))
            try await Task.sleep(for: pause)
        }
        return seconds
    }
}
