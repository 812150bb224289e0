import Foundation
import GRDB
import LFSSync
import Synchronization

/// A probe of the app's own writes, idle and during a first sync. The server is another process.
package struct SyncWritesProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database.
    package var source: String
    /// The index of the account's session.
    package var session: Int
    /// The folder of the device's database.
    package var folder: String
    /// The number of writes that are measured without a sync.
    package var writes: Int
    /// The pause between two writes.
    package var pause: Duration

    package init(server: String, source: String, session: Int, folder: String, writes: Int, pause: Duration) {
        self.server = server
        self.source = source
        self.session = session
        self.folder = folder
        self.writes = writes
        self.pause = pause
    }

    package func run() async throws -> SyncWritesSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, options: ["--requests-per-second", "100000"])
        defer { server.stop() }
        let device = try SyncHost.open(in: folder)
        try await device.write { try $0.execute(sql: "CREATE TABLE own (id INTEGER PRIMARY KEY, text TEXT NOT NULL)") }
        let client = try await FirstSyncProbe.client(device, server: server, token: tokens[session + 2])
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
            throw BenchError("The sync ended before the first write. Increase --rows.")
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
