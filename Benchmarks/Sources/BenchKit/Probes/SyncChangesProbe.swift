import Foundation
import LFSSync

/// A probe of a device that has all rows and repeatedly receives changes of another device. The server is another
/// process.
package struct SyncChangesProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database.
    package var source: String
    /// The folder of the device's database.
    package var folder: String
    /// The number of rows.
    package var rows: Int
    /// The number of rows that change each time.
    package var changes: Int
    package var times: Int

    package init(server: String, source: String, folder: String, rows: Int, changes: Int, times: Int) {
        self.server = server
        self.source = source
        self.folder = folder
        self.rows = rows
        self.changes = changes
        self.times = times
    }

    package func run() async throws -> SyncChangesSample {
        let tokens = try SyncMaker.tokens(in: source)
        let server = try SyncServerProcess(server, in: source, options: ["--requests-per-second", "100000"])
        defer { server.stop() }
        let device = try SyncHost.open(in: folder)
        let client = try await FirstSyncProbe.client(device, server: server, token: tokens[2])
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
                throw BenchError("\(changes) rows were changed, but the device received \(report.received).")
            }
        }
        await client.shutdown()
        guard let idle = Latencies(idle), let changed = Latencies(changed) else {
            throw BenchError("Nothing was measured. Increase --times.")
        }
        return SyncChangesSample(rows: rows, changes: changes, idle: idle, changed: changed)
    }

    /// Returns changes of rows that are evenly distributed.
    private func body(_ time: Int) -> String {
        (0..<changes).map { change in
            let number = (change * (rows / changes) + time) % rows
            return SyncMaker.line(number, sequence: rows + time * changes + change + 1, title: "Changed \(time)")
        }.joined()
    }
}
