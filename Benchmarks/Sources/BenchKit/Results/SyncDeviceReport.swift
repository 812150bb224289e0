/// A measurement of an interrupted first sync.
package struct SyncResumeSample: Codable, Equatable, Sendable {
    /// The number of rows at the end.
    package var rows: Int
    package var cuts: Int
    /// The number of rows that arrived although they existed.
    package var repeated: Int
    /// The times from the start of a sync to its first committed rows.
    package var firstRows: Latencies

    package init(rows: Int, cuts: Int, repeated: Int, firstRows: Latencies) {
        self.rows = rows
        self.cuts = cuts
        self.repeated = repeated
        self.firstRows = firstRows
    }
}

/// The results of `lfs-bench sync resume`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncResumeReport: Codable, Equatable, Sendable {
    /// The samples, one per round.
    package var samples: [SyncResumeSample]

    package init(samples: [SyncResumeSample]) { self.samples = samples }
}

extension SyncResumeReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = ["rows", "cuts", "came twice", "first rows median ms", "p99 ms", "longest ms"]
        let lines = samples.map { sample in
            [Format.count(sample.rows), Format.count(sample.cuts), Format.count(sample.repeated)]
                + [sample.firstRows.median, sample.firstRows.p99, sample.firstRows.maximum]
                .map { Format.decimal($0 * 1_000, places: 1) }
        }
        return
            (["A first sync that was cut off and went on, a round in each line", ""]
            + TextTable.lines([heads] + lines)).joined(separator: "\n")
    }
}

/// A measurement of the effect of a first sync on the app's own writes.
package struct SyncWritesSample: Codable, Equatable, Sendable {
    /// The number of received rows.
    package var rows: Int
    /// The duration of the sync.
    package var seconds: Double
    package var idle: Latencies
    package var beside: Latencies

    package init(rows: Int, seconds: Double, idle: Latencies, beside: Latencies) {
        self.rows = rows
        self.seconds = seconds
        self.idle = idle
        self.beside = beside
    }
}

/// The results of `lfs-bench sync writes`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncWritesReport: Codable, Equatable, Sendable {
    /// The samples, one per round.
    package var samples: [SyncWritesSample]

    package init(samples: [SyncWritesSample]) { self.samples = samples }

    /// The median of the rounds' ratios of the 99th percentile, where idle is 1.
    package var slowdown: Double? { samples.map { $0.beside.p99 / $0.idle.p99 }.median }
}

extension SyncWritesReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = [
            "rows", "seconds", "writes", "idle median ms", "p99 ms", "beside median ms", "p99 ms", "longest ms",
            "p99 ratio",
        ]
        let lines = samples.map { sample in
            [Format.count(sample.rows), Format.decimal(sample.seconds, places: 2), Format.count(sample.beside.count)]
                + [
                    sample.idle.median, sample.idle.p99, sample.beside.median, sample.beside.p99, sample.beside.maximum,
                ].map { Format.decimal($0 * 1_000, places: 2) } + [
                    Format.decimal(sample.beside.p99 / sample.idle.p99, places: 2)
                ]
        }
        return
            (["The app's own writes beside a first sync, a round in each line", ""]
            + TextTable.lines([heads] + lines)).joined(separator: "\n")
    }
}
