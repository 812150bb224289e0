import Foundation
import LFSSync

/// A device that has all rows, and gets some changes of another one again and again. The server is another process.
package struct SyncChangesProbe: Sendable {
    package var server: String
    /// Where ``SyncMaker`` has made the server's database.
    package var source: String
    /// Where the device's database is made.
    package var folder: String
    /// How many rows are there.
    package var rows: Int
    /// How many of them change each time.
    package var changes: Int
    package var times: Int

    package init(server: String, source: String, folder: String, rows: Int, changes: Int, times: Int) {
        (self.server, self.source, self.folder) = (server, source, folder)
        (self.rows, self.changes, self.times) = (rows, changes, times)
    }

    package func run() async throws -> SyncChangesSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, ["--requests-per-second", "100000"])
        defer { server.stop() }
        let device = try SyncHost.open(in: folder)
        let client = try await FirstSyncProbe.client(device, server, tokens[2])
        try await client.synchronize()
        var (idle, changed): ([Double], [Double]) = ([], [])
        for time in 0..<times {
            let start = ContinuousClock.now
            guard try await client.synchronize().received == 0 else { throw BenchError("Nobody had changed anything.") }
            idle.append((ContinuousClock.now - start) / .seconds(1))

            _ = try SyncSocket(port: server.port, path: "push", token: tokens[0], body: body(time)).whole()
            let begin = ContinuousClock.now
            let report = try await client.synchronize()
            changed.append((ContinuousClock.now - begin) / .seconds(1))
            guard report.received == changes else {
                throw BenchError("\(changes) rows were changed, and \(report.received) have come.")
            }
        }
        await client.shutdown()
        guard let idle = Latencies(idle), let changed = Latencies(changed) else {
            throw BenchError("Nothing was measured: more --times.")
        }
        return SyncChangesSample(rows: rows, changes: changes, idle: idle, changed: changed)
    }

    /// Changes of rows that lie as far from each other as they can.
    private func body(_ time: Int) -> String {
        (0..<changes).map { change in
            let number = (change * (rows / changes) + time) % rows
            return SyncMaker.line(number, sequence: rows + time * changes + change + 1, title: "Changed \(time)")
        }.joined()
    }
}
