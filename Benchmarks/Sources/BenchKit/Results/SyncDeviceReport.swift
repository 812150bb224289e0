/// How a first sync has gone on that was cut off, once.
package struct SyncResumeSample: Codable, Equatable, Sendable {
    /// That are there at the end.
    package var rows: Int
    package var cuts: Int
    /// Rows that have come though they were there.
    package var repeated: Int
    /// From the begin of a sync to its first rows, committed.
    package var firstRows: Latencies

    package init(rows: Int, cuts: Int, repeated: Int, firstRows: Latencies) {
        (self.rows, self.cuts, self.repeated, self.firstRows) = (rows, cuts, repeated, firstRows)
    }
}

/// Everything that `lfs-bench sync resume` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncResumeReport: Codable, Equatable, Sendable {
    /// One for each round.
    package var samples: [SyncResumeSample]

    package init(samples: [SyncResumeSample]) { self.samples = samples }
}

extension SyncResumeReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = ["rows", "cuts", "came twice", "first rows median ms", "p99 ms", "longest ms"]
        let lines = samples.map { sample in
            [Format.count(sample.rows), Format.count(sample.cuts), Format.count(sample.repeated)]
                + [sample.firstRows.median, sample.firstRows.p99, sample.firstRows.maximum]
                .map { Format.decimal($0 * 1_000, 1) }
        }
        return
            (["A first sync that was cut off and went on, a round in each line", ""]
            + TextTable.lines([heads] + lines)).joined(separator: "\n")
    }
}

/// What a first sync did to the writes of the app itself, once.
package struct SyncWritesSample: Codable, Equatable, Sendable {
    /// That have come.
    package var rows: Int
    /// How long they took.
    package var seconds: Double
    package var idle: Latencies
    package var beside: Latencies

    package init(rows: Int, seconds: Double, idle: Latencies, beside: Latencies) {
        (self.rows, self.seconds, self.idle, self.beside) = (rows, seconds, idle, beside)
    }
}

/// Everything that `lfs-bench sync writes` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncWritesReport: Codable, Equatable, Sendable {
    /// One for each round.
    package var samples: [SyncWritesSample]

    package init(samples: [SyncWritesSample]) { self.samples = samples }

    /// The median of the rounds' ratios of the 99th percentile, with idle as 1.
    package var slowdown: Double? { samples.map { $0.beside.p99 / $0.idle.p99 }.median }
}

extension SyncWritesReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = [
            "rows", "seconds", "writes", "idle median ms", "p99 ms", "beside median ms", "p99 ms", "longest ms",
            "p99 ratio",
        ]
        let lines = samples.map { sample in
            [Format.count(sample.rows), Format.decimal(sample.seconds, 2), Format.count(sample.beside.count)]
                + [
                    sample.idle.median, sample.idle.p99, sample.beside.median, sample.beside.p99, sample.beside.maximum,
                ].map { Format.decimal($0 * 1_000, 2) } + [Format.decimal(sample.beside.p99 / sample.idle.p99, 2)]
        }
        return
            (["The app's own writes beside a first sync, a round in each line", ""]
            + TextTable.lines([heads] + lines)).joined(separator: "\n")
    }
}
