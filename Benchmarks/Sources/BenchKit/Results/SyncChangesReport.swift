/// A measurement of a device that receives changes of another device.
package struct SyncChangesSample: Codable, Equatable, Sendable {
    /// The number of rows on both devices.
    package var rows: Int
    package var changes: Int
    /// The syncs without changes.
    package var idle: Latencies
    /// The syncs with the changes.
    package var changed: Latencies

    package init(rows: Int, changes: Int, idle: Latencies, changed: Latencies) {
        self.rows = rows
        self.changes = changes
        self.idle = idle
        self.changed = changed
    }
}

/// The results of `lfs-bench sync changes`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncChangesReport: Codable, Equatable, Sendable {
    /// The samples, one per round and number of rows.
    package var samples: [SyncChangesSample]

    package init(samples: [SyncChangesSample]) { self.samples = samples }

    /// The time of the changes with the most rows divided by that with the fewest rows, by the medians.
    package var growth: Double? {
        guard let most = samples.map(\.rows).max(), let fewest = samples.map(\.rows).min() else { return nil }
        func median(_ rows: Int) -> Double? { samples.filter { $0.rows == rows }.map(\.changed.median).median }
        guard let above = median(most), let below = median(fewest), below > 0 else { return nil }
        return above / below
    }
}

extension SyncChangesReport: CustomStringConvertible {
    /// The report as a table.
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
            growth.map { ["", "Changes among the most rows take \(Format.decimal($0, places: 2)) times as long."] }
            ?? []
        return (["Changes of another device, a round in each line", ""] + TextTable.lines([heads] + lines) + ratio)
            .joined(separator: "\n")
    }

    private static func milliseconds(_ seconds: Double) -> String { Format.decimal(seconds * 1_000, places: 1) }
}
