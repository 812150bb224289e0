/// The measured forms of ingest.
package enum IngestMeasure: String, CaseIterable, Codable, Sendable {
    /// Small files in sequence, each durable before the next one.
    case each
    /// The same files in batches with their rows, until they are in their final place.
    case batches
    /// A large file.
    case large

    /// The tools that take part, the library first.
    package var tools: [Tool] {
        switch self {
        case .each, .batches: [.lfs, .wholeWay]
        case .large: [.lfs, .wholeWay, .cp]
        }
    }
}

/// The times of an ingest.
package struct IngestTimes: Codable, Equatable, Sendable {
    package var files: Int
    package var seconds: Double
    /// The times of single files, or nil if several were ingested at once.
    package var each: Latencies?

    package init(files: Int, seconds: Double, each: Latencies?) {
        self.files = files
        self.seconds = seconds
        self.each = each
    }
}

/// A run of one tool.
package struct IngestSample: Codable, Equatable, Sendable {
    package var measure: IngestMeasure
    package var tool: Tool
    /// The number of the round, from 1.
    package var round: Int
    package var times: IngestTimes

    package init(measure: IngestMeasure, tool: Tool, round: Int, times: IngestTimes) {
        self.measure = measure
        self.tool = tool
        self.round = round
        self.times = times
    }
}

/// The results of `lfs-bench ingest`. Its JSON is the document of `--json`, to which fields may be added.
package struct IngestReport: Codable, Equatable, Sendable {
    package var small: Workload
    package var large: Workload
    package var samples: [IngestSample]
    package var missing: [MissingTool]

    package init(small: Workload, large: Workload, samples: [IngestSample], missing: [MissingTool]) {
        self.small = small
        self.large = large
        self.samples = samples
        self.missing = missing
    }

    /// Returns the library's time per second of a tool: the median of the rounds in which both ran.
    package func ratio(
        _ measure: IngestMeasure, to tool: Tool, of value: (IngestTimes) -> Double? = { $0.seconds }
    ) -> Double? {
        let runs = samples.filter { $0.measure == measure }
        let pairs = runs.filter { $0.tool == .lfs }.compactMap { own in
            runs.first { $0.tool == tool && $0.round == own.round }.map { (own: own.times, other: $0.times) }
        }
        return pairs.compactMap { pair in
            guard let own = value(pair.own), let other = value(pair.other), other > 0 else { return nil }
            return own / other
        }.median
    }
}

extension IngestReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let rounds = samples.map(\.round).max() ?? 0
        let title =
            "\(Format.count(small.files, noun: "file")) of \(Format.bytes(small.bytesPerFile)), and one of "
            + "\(Format.bytes(large.bytesPerFile)), \(Format.count(rounds, noun: "round"))"
        let heads = ["", "p50 ms", "p99 ms", "ms a file", "MiB/s", "lfs/tool p50", "p99", "all"]
        let rows = IngestMeasure.allCases.flatMap { measure in
            measure.tools.compactMap { tool in row(measure, tool: tool) }
        }
        let notes =
            ["", "Medians of the rounds. lfs/tool is the median of each round's ratio."]
            + missing.map { "Without \($0.tool.rawValue): \($0.reason)." }
        return ([title, ""] + TextTable.lines([heads] + rows) + notes).joined(separator: "\n")
    }

    private func row(_ measure: IngestMeasure, tool: Tool) -> [String]? {
        let times = samples.filter { $0.measure == measure && $0.tool == tool }.map(\.times)
        guard let seconds = times.map({ $0.seconds / Double($0.files) }).median else { return nil }
        let workload = measure == .large ? large : small
        func median(_ value: (Latencies) -> Double) -> String {
            times.compactMap(\.each).map { value($0) * 1_000 }.median.map { Format.decimal($0, places: 3) } ?? "–"
        }
        func ratio(_ value: (IngestTimes) -> Double?) -> String {
            guard tool != .lfs else { return "–" }
            return self.ratio(measure, to: tool, of: value).map { Format.decimal($0, places: 2) } ?? "–"
        }
        let isEach = measure == .each
        return [
            "\(measure.rawValue), \(tool.rawValue)", isEach ? median(\.median) : "–", isEach ? median(\.p99) : "–",
            Format.decimal(seconds * 1_000, places: 3),
            Format.decimal(Double(workload.bytesPerFile) / 1_048_576 / seconds, places: 1),
            isEach ? ratio(\.each?.median) : "–", isEach ? ratio(\.each?.p99) : "–", ratio(\.seconds),
        ]
    }
}
