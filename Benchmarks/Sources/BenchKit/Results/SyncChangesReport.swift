/// How long a device takes for changes of another one.
package struct SyncChangesSample: Codable, Equatable, Sendable {
    /// That both have.
    package var rows: Int
    package var changes: Int
    /// A sync with nothing to get.
    package var idle: Latencies
    /// One with the changes.
    package var changed: Latencies

    package init(rows: Int, changes: Int, idle: Latencies, changed: Latencies) {
        (self.rows, self.changes, self.idle, self.changed) = (rows, changes, idle, changed)
    }
}

/// Everything that `lfs-bench sync changes` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncChangesReport: Codable, Equatable, Sendable {
    /// One for each round and number of rows.
    package var samples: [SyncChangesSample]

    package init(samples: [SyncChangesSample]) { self.samples = samples }

    /// How much longer the changes take among the most rows than among the fewest, by the medians.
    package var growth: Double? {
        guard let most = samples.map(\.rows).max(), let fewest = samples.map(\.rows).min() else { return nil }
        func median(_ rows: Int) -> Double? { samples.filter { $0.rows == rows }.map(\.changed.median).median }
        guard let above = median(most), let below = median(fewest), below > 0 else { return nil }
        return above / below
    }
}

extension SyncChangesReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = ["rows", "changes", "idle median ms", "p99 ms", "changes median ms", "p99 ms"]
        let lines = samples.map { sample in
            [
                Format.count(sample.rows), Format.count(sample.changes), Self.milliseconds(sample.idle.median),
                Self.milliseconds(sample.idle.p99), Self.milliseconds(sample.changed.median),
                Self.milliseconds(sample.changed.p99),
            ]
        }
        let ratio =
            growth.map { ["", "Changes among the most rows take \(Format.decimal($0, 2)) times as long."] } ?? []
        return (["Changes of another device, a round in each line", ""] + TextTable.lines([heads] + lines) + ratio)
            .joined(separator: "\n")
    }

    private static func milliseconds(_ seconds: Double) -> String { Format.decimal(seconds * 1_000, 1) }
}
