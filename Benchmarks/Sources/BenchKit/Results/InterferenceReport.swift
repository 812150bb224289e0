/// A measurement of the effect of uploads on the app's own writes.
package struct InterferenceSample: Codable, Equatable, Sendable {
    package var files: Int
    /// The time from the start of the queue to the end of the last upload.
    package var uploadSeconds: Double
    /// The app's writes without uploads.
    package var idle: Latencies
    /// The app's writes during uploads.
    package var during: Latencies
    /// The times for which the library's own transactions blocked the writer during uploads.
    package var ownCommits: Latencies

    package init(files: Int, uploadSeconds: Double, idle: Latencies, during: Latencies, ownCommits: Latencies) {
        self.files = files
        self.uploadSeconds = uploadSeconds
        self.idle = idle
        self.during = during
        self.ownCommits = ownCommits
    }

    /// The median during uploads divided by the idle median.
    package var medianRatio: Double { during.median / idle.median }

    /// The increase of the 99th percentile during uploads in seconds, at least 0.
    package var addedP99: Double { max(0, during.p99 - idle.p99) }
}

/// The results of `lfs-bench interference`. Its JSON is the document of `--json`, to which fields may be added.
package struct InterferenceReport: Codable, Equatable, Sendable {
    package var bytesPerFile: Int64
    package var pauseMilliseconds: Int
    package var latencyMilliseconds: Int
    package var connections: Int
    /// The samples, one per round.
    package var samples: [InterferenceSample]
    /// The median of the rounds' ratios. The value 1 means no interference.
    package private(set) var medianRatio: Double?
    /// The median of the rounds' increases of the 99th percentile, in seconds.
    package private(set) var addedP99: Double?
    /// The median of the rounds' longest transactions of the library in seconds, which bounds the increase of the 99th
    /// percentile.
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
    /// The report as a table.
    package var description: String {
        let files = samples.first?.files ?? 0
        let title =
            "\(Format.count(files, noun: "upload")) of \(Format.bytes(bytesPerFile)) beside the app's own writes, one "
            + "each \(pauseMilliseconds) ms; the storage takes \(latencyMilliseconds) ms, "
            + "\(Format.count(connections, noun: "connection")), \(Format.count(samples.count, noun: "round"))"
        let rows = [
            ["", "count", "p50 ms", "p99 ms", "longest ms"], row("app's writes, idle", latencies: \.idle),
            row("app's writes, uploading", latencies: \.during), row("LFS's transactions", latencies: \.ownCommits),
        ]
        return ([title, ""] + TextTable.lines(rows) + [""] + notes).joined(separator: "\n")
    }

    private func row(_ name: String, latencies: KeyPath<InterferenceSample, Latencies>) -> [String] {
        func median(_ value: (Latencies) -> Double) -> String {
            samples.map { value($0[keyPath: latencies]) * 1_000 }.median.map { Format.decimal($0, places: 3) } ?? "–"
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
            "p50 uploading/idle: \(Format.decimal(medianRatio, places: 2)). "
                + "p99 uploading − idle: \(Format.decimal(addedP99 * 1_000, places: 3)) ms; "
                + "the longest transaction of LFS: \(Format.decimal(longestCommit * 1_000, places: 3)) ms.",
            "\(Format.count(Int(rate.rounded()))) uploads a second. All values are medians of the rounds.",
        ]
    }
}
