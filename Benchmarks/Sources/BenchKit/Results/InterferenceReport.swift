/// What uploads did to the writes of the app itself, once.
package struct InterferenceSample: Codable, Equatable, Sendable {
    package var files: Int
    /// From the start of the queue to the end of the last upload.
    package var uploadSeconds: Double
    /// The app's writes while nothing was uploaded.
    package var idle: Latencies
    /// The app's writes while files were uploaded.
    package var during: Latencies
    /// The library's own transactions meanwhile: how long each kept the writer.
    package var ownCommits: Latencies

    package init(files: Int, uploadSeconds: Double, idle: Latencies, during: Latencies, ownCommits: Latencies) {
        self.files = files
        self.uploadSeconds = uploadSeconds
        self.idle = idle
        self.during = during
        self.ownCommits = ownCommits
    }

    /// The median beside uploads, in idle ones.
    package var medianRatio: Double { during.median / idle.median }

    /// By how much the 99th percentile is longer beside uploads, in seconds; 0 when it is not.
    package var addedP99: Double { max(0, during.p99 - idle.p99) }
}

/// Everything that `lfs-bench interference` measured. Its JSON is the document of `--json`: fields may be added.
package struct InterferenceReport: Codable, Equatable, Sendable {
    package var bytesPerFile: Int64
    package var pauseMilliseconds: Int
    package var latencyMilliseconds: Int
    package var connections: Int
    /// One for each round.
    package var samples: [InterferenceSample]
    /// The median of the rounds' ratios: 1 is no interference.
    package private(set) var medianRatio: Double?
    /// The median of what each round's 99th percentile had more than idle, in seconds.
    package private(set) var addedP99: Double?
    /// The median of the rounds' longest transactions of the library, in seconds: what the 99th percentile may have
    /// more.
    package private(set) var longestCommit: Double?

    package init(
        bytesPerFile: Int64, pauseMilliseconds: Int, latencyMilliseconds: Int, connections: Int,
        samples: [InterferenceSample]
    ) {
        self.bytesPerFile = bytesPerFile
        self.pauseMilliseconds = pauseMilliseconds
        self.latencyMilliseconds = latencyMilliseconds
        self.connections = connections
        self.samples = samples
        medianRatio = samples.map(\.medianRatio).median
        addedP99 = samples.map(\.addedP99).median
        longestCommit = samples.map(\.ownCommits.maximum).median
    }
}

extension InterferenceReport: CustomStringConvertible {
    /// As people read it.
    package var description: String {
        let files = samples.first?.files ?? 0
        let title =
            "\(Format.count(files, "upload")) of \(Format.bytes(bytesPerFile)) beside the app's own writes, one each "
            + "\(pauseMilliseconds) ms; the storage takes \(latencyMilliseconds) ms, "
            + "\(Format.count(connections, "connection")), \(Format.count(samples.count, "round"))"
        let rows = [
            ["", "count", "p50 ms", "p99 ms", "longest ms"], row("app's writes, idle", \.idle),
            row("app's writes, uploading", \.during), row("LFS's transactions", \.ownCommits),
        ]
        return ([title, ""] + TextTable.lines(rows) + [""] + notes).joined(separator: "\n")
    }

    private func row(_ name: String, _ latencies: KeyPath<InterferenceSample, Latencies>) -> [String] {
        func median(_ value: (Latencies) -> Double) -> String {
            samples.map { value($0[keyPath: latencies]) * 1_000 }.median.map { Format.decimal($0, 3) } ?? "–"
        }
        let counts = samples.map { Double($0[keyPath: latencies].count) }
        return [
            name, Format.count(Int(counts.median ?? 0)), median(\.median), median(\.p99), median(\.maximum),
        ]
    }

    private var notes: [String] {
        guard let medianRatio, let addedP99, let longestCommit,
            let rate = samples.map({ Double($0.files) / $0.uploadSeconds }).median
        else { return [] }
        return [
            "p50 uploading/idle: \(Format.decimal(medianRatio, 2)). "
                + "p99 uploading − idle: \(Format.decimal(addedP99 * 1_000, 3)) ms; "
                + "the longest transaction of LFS: \(Format.decimal(longestCommit * 1_000, 3)) ms.",
            "\(Format.count(Int(rate.rounded()))) uploads a second. All values are medians of the rounds.",
        ]
    }
}
