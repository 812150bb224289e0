/// How long a device takes to hear that there is nothing for it.
package struct SyncIdleSample: Codable, Equatable, Sendable {
    /// That it may read.
    package var scopes: Int
    package var latencies: Latencies
    /// Of the server, for each sync.
    package var serverCPUSeconds: Double

    package init(scopes: Int, latencies: Latencies, serverCPUSeconds: Double) {
        (self.scopes, self.latencies, self.serverCPUSeconds) = (scopes, latencies, serverCPUSeconds)
    }
}

/// Everything that `lfs-bench sync idle` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncIdleReport: Codable, Equatable, Sendable {
    /// One for each round and number of scopes.
    package var samples: [SyncIdleSample]

    package init(samples: [SyncIdleSample]) { self.samples = samples }
}

extension SyncIdleReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = ["scopes", "syncs", "median ms", "p99 ms", "longest ms", "server CPU ms"]
        let lines = samples.map { sample in
            [Format.count(sample.scopes), Format.count(sample.latencies.count)]
                + [
                    sample.latencies.median, sample.latencies.p99, sample.latencies.maximum, sample.serverCPUSeconds,
                ].map { Format.decimal($0 * 1_000, 2) }
        }
        return (["Syncs with nothing to get, a round in each line", ""] + TextTable.lines([heads] + lines))
            .joined(separator: "\n")
    }
}
