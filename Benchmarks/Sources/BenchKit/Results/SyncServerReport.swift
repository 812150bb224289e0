/// A measurement of a server with open streams, and of the times of commits to reach them.
package struct SyncLiveSample: Codable, Equatable, Sendable {
    package var sessions: Int
    /// The increase of the server's memory per session.
    package var bytesEach: Int64
    /// The CPU time of the server per second without commits.
    package var idleCPUShare: Double
    /// The times from the start of a push to the line of its row, for each session and commit.
    package var latencies: Latencies

    package init(sessions: Int, bytesEach: Int64, idleCPUShare: Double, latencies: Latencies) {
        self.sessions = sessions
        self.bytesEach = bytesEach
        self.idleCPUShare = idleCPUShare
        self.latencies = latencies
    }
}

/// The results of `lfs-bench sync live`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncLiveReport: Codable, Equatable, Sendable {
    /// The samples, one per round.
    package var samples: [SyncLiveSample]

    package init(samples: [SyncLiveSample]) { self.samples = samples }
}

extension SyncLiveReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = ["sessions", "KiB each", "idle CPU", "commit median ms", "p99 ms", "last ms"]
        let lines = samples.map { sample in
            [
                Format.count(sample.sessions), Format.decimal(Double(max(sample.bytesEach, 0)) / 1_024, places: 1),
                "\(Format.decimal(sample.idleCPUShare * 100, places: 1)) %", Self.milliseconds(sample.latencies.median),
                Self.milliseconds(sample.latencies.p99), Self.milliseconds(sample.latencies.maximum),
            ]
        }
        let notes = [
            "Memory of the server, above what it had before. A commit is measured from the begin of its push to the",
            "line of its row, in each session.",
        ]
        return
            (["Sessions with open streams, a round in each line", ""] + TextTable.lines([heads] + lines) + [""] + notes)
            .joined(separator: "\n")
    }

    fileprivate static func milliseconds(_ seconds: Double) -> String { Format.decimal(seconds * 1_000, places: 1) }
}

/// A measurement of a server with slow readers, and of their effect on others.
package struct SyncReadersSample: Codable, Equatable, Sendable {
    package var readers: Int
    /// The bytes that all readers have read.
    package var readBytes: Int64
    /// The duration of the reading.
    package var readSeconds: Double
    /// The peak of the server's memory.
    package var serverBytes: Int64
    /// The increase of that peak since before the readers.
    package var extraBytes: Int64
    /// The number of connections to the database.
    package var connections: Int
    /// The syncs of another account without changes, before the readers.
    package var alone: Latencies
    /// The same syncs during the reading.
    package var beside: Latencies

    package init(
        readers: Int, readBytes: Int64, readSeconds: Double, serverBytes: Int64, extraBytes: Int64, connections: Int,
        alone: Latencies,
        beside: Latencies
    ) {
        self.readers = readers
        self.readBytes = readBytes
        self.readSeconds = readSeconds
        self.serverBytes = serverBytes
        self.extraBytes = extraBytes
        self.connections = connections
        self.alone = alone
        self.beside = beside
    }
}

/// The results of `lfs-bench sync readers`. Its JSON is the document of `--json`, to which fields may be added.
package struct SyncReadersReport: Codable, Equatable, Sendable {
    /// The samples, one per round.
    package var samples: [SyncReadersSample]

    package init(samples: [SyncReadersSample]) { self.samples = samples }

    /// The median of the rounds' ratios of the 99th percentile, where the value without readers is 1.
    package var slowdown: Double? { samples.map { $0.beside.p99 / $0.alone.p99 }.median }
}

extension SyncReadersReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = ["readers", "MiB read", "server MiB", "more MiB", "connections", "p99 ms alone", "beside", "ratio"]
        let lines = samples.map { sample in
            [
                Format.count(sample.readers), Self.mebibytes(sample.readBytes), Self.mebibytes(sample.serverBytes),
                Self.mebibytes(sample.extraBytes), Format.count(sample.connections),
                SyncLiveReport.milliseconds(sample.alone.p99), SyncLiveReport.milliseconds(sample.beside.p99),
                Format.decimal(sample.beside.p99 / sample.alone.p99, places: 2),
            ]
        }
        let notes = ["A sync of another account with nothing to get, alone and beside the readers."]
        return (["Slow readers, a round in each line", ""] + TextTable.lines([heads] + lines) + [""] + notes)
            .joined(separator: "\n")
    }

    private static func mebibytes(_ count: Int64) -> String {
        Format.decimal(Double(max(count, 0)) / 1_048_576, places: 1)
    }
}
