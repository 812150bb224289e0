/// A measurement of syncs without changes.
package struct SyncIdleSample: Codable, Equatable, Sendable {
    /// The number of scopes that the device may read.
    package var scopes: Int
    package var latencies: Latencies
    /// The CPU time of the server per sync.
    package var serverCPUSeconds: Double

    package init(scopes: Int, latencies: Latencies, serverCPUSeconds: Double) {
        self.scopes = scopes
        self.latencies = latencies
        self.serverCPUSeconds = serverCPUSeconds
    }
}

/// The results of `lfs-bench sync idle`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncIdleReport: Codable, Equatable, Sendable {
    /// The samples, one per round and number of scopes.
    package var samples: [SyncIdleSample]

    package init(samples: [SyncIdleSample]) { self.samples = samples }
}

extension SyncIdleReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = ["scopes", "syncs", "median ms", "p99 ms", "longest ms", "server CPU ms"]
        let lines = samples.map { sample in
            [Format.count(sample.scopes), Format.count(sample.latencies.count)]
                + [
                    sample.latencies.median, sample.latencies.p99, sample.latencies.maximum, sample.serverCPUSeconds,
                ].map { Format.decimal($0 * 1_000, places: 2) }
        }
        return (["Syncs with nothing to get, a round in each line", ""] + TextTable.lines([heads] + lines))
            .joined(separator: "\n")
    }
}
