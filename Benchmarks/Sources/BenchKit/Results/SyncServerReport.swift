/// What sessions with open streams cost a server, and when they hear of commits.
package struct SyncLiveSample: Codable, Equatable, Sendable {
    package var sessions: Int
    /// How much more memory the server had, for each session.
    package var bytesEach: Int64
    /// Processor time of the server in a second in which nothing commits.
    package var idleCPUShare: Double
    /// From the begin of a push to the line of its row, for each session and commit.
    package var latencies: Latencies

    package init(sessions: Int, bytesEach: Int64, idleCPUShare: Double, latencies: Latencies) {
        (self.sessions, self.bytesEach) = (sessions, bytesEach)
        (self.idleCPUShare, self.latencies) = (idleCPUShare, latencies)
    }
}

/// Everything that `lfs-bench sync live` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncLiveReport: Codable, Equatable, Sendable {
    /// One for each round.
    package var samples: [SyncLiveSample]

    package init(samples: [SyncLiveSample]) { self.samples = samples }
}

extension SyncLiveReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = ["sessions", "KiB each", "idle CPU", "commit median ms", "p99 ms", "last ms"]
        let lines = samples.map { sample in
            [
                Format.count(sample.sessions), Format.decimal(Double(max(sample.bytesEach, 0)) / 1_024, 1),
                "\(Format.decimal(sample.idleCPUShare * 100, 1)) %", Self.milliseconds(sample.latencies.median),
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

    fileprivate static func milliseconds(_ seconds: Double) -> String { Format.decimal(seconds * 1_000, 1) }
}

/// What slow readers cost a server, and others.
package struct SyncReadersSample: Codable, Equatable, Sendable {
    package var readers: Int
    /// Of all of them.
    package var readBytes: Int64
    /// In which time.
    package var readSeconds: Double
    /// The server's memory at its peak.
    package var serverBytes: Int64
    /// The same above what it had before the readers.
    package var extraBytes: Int64
    /// To the database.
    package var connections: Int
    /// A sync of another account with nothing to get, without the readers.
    package var alone: Latencies
    /// The same while they read.
    package var beside: Latencies

    package init(
        readers: Int, readBytes: Int64, readSeconds: Double, serverBytes: Int64, extraBytes: Int64, connections: Int,
        alone: Latencies,
        beside: Latencies
    ) {
        (self.readers, self.readBytes, self.readSeconds) = (readers, readBytes, readSeconds)
        self.serverBytes = serverBytes
        (self.extraBytes, self.connections, self.alone, self.beside) = (extraBytes, connections, alone, beside)
    }
}

/// Everything that `lfs-bench sync readers` measured. Its JSON is the document of `--json`: fields may be added.
package struct SyncReadersReport: Codable, Equatable, Sendable {
    /// One for each round.
    package var samples: [SyncReadersSample]

    package init(samples: [SyncReadersSample]) { self.samples = samples }

    /// The median of the rounds' ratios of the latencies' 99th percentile, with the one without readers as 1.
    package var slowdown: Double? { samples.map { $0.beside.p99 / $0.alone.p99 }.median }
}

extension SyncReadersReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let heads = ["readers", "MiB read", "server MiB", "more MiB", "connections", "p99 ms alone", "beside", "ratio"]
        let lines = samples.map { sample in
            [
                Format.count(sample.readers), Self.mebibytes(sample.readBytes), Self.mebibytes(sample.serverBytes),
                Self.mebibytes(sample.extraBytes), Format.count(sample.connections),
                SyncLiveReport.milliseconds(sample.alone.p99), SyncLiveReport.milliseconds(sample.beside.p99),
                Format.decimal(sample.beside.p99 / sample.alone.p99, 2),
            ]
        }
        let notes = ["A sync of another account with nothing to get, alone and beside the readers."]
        return (["Slow readers, a round in each line", ""] + TextTable.lines([heads] + lines) + [""] + notes)
            .joined(separator: "\n")
    }

    private static func mebibytes(_ count: Int64) -> String { Format.decimal(Double(max(count, 0)) / 1_048_576, 1) }
}
