import Foundation
import LFSSync

/// A probe of a device with access to many scopes, which repeatedly syncs without changes. The server is another
/// process.
package struct SyncIdleProbe: Sendable {
    package var server: String
    /// The folder in which ``SyncMaker`` has created the server's database with as many partners.
    package var source: String
    /// The folder of the device's database.
    package var folder: String
    /// The number of scopes: the account's own and those of its partners.
    package var scopes: Int
    package var times: Int

    package init(server: String, source: String, folder: String, scopes: Int, times: Int) {
        self.server = server
        self.source = source
        self.folder = folder
        self.scopes = scopes
        self.times = times
    }

    package func run() async throws -> SyncIdleSample {
        let tokens = try SyncMaker.tokens(in: source)
        let hasPartners = scopes > 1
        let server = try SyncServerProcess(
            server, in: source,
            options: ["--requests-per-second", "100000"] + (hasPartners ? ["--partners", SyncHost.partners] : []))
        defer { server.stop() }
        let device = try SyncHost.open(in: folder, hasPartners: hasPartners)
        let client = try await FirstSyncProbe.client(device, server: server, token: tokens[2])
        let first = try await client.synchronize()
        guard try SyncHost.count(device) == scopes, first.parked == 0 else {
            throw BenchError("\(try SyncHost.count(device)) notes of \(scopes) scopes have arrived.")
        }
        let cpu = try server.cpuSeconds()
        var seconds: [Double] = []
        for _ in 0..<times {
            let start = ContinuousClock.now
            guard try await client.synchronize().received == 0 else { throw BenchError("Nobody had changed anything.") }
            seconds.append((ContinuousClock.now - start) / .seconds(1))
        }
        let serverCPU = (try server.cpuSeconds() - cpu) / Double(times)
        await client.shutdown()
        guard let latencies = Latencies(seconds) else { throw BenchError("Nothing was measured. Increase --times.") }
        return SyncIdleSample(scopes: scopes, latencies: latencies, serverCPUSeconds: serverCPU)
    }
}
