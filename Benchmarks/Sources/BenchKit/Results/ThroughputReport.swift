/// The results of a throughput comparison. Its JSON is the document of `--json`, to which fields may be added.
package struct ThroughputReport: Codable, Equatable, Sendable {
    package var endpoint: String
    package var connections: Int
    package var rounds: Int
    package var workload: Workload
    /// The lower bound of every peak, which is the peak of this process itself. See `Cost.peakBytes`.
    package var leastPeakBytes: Int64
    package var tools: [InstalledTool]
    package var missing: [MissingTool]
    package var failures: [Failure]
    /// The runs in their order.
    package var runs: [Run]
    package private(set) var summaries: [Summary]
    package private(set) var ratios: [Ratio]

    /// The results of a tool over all its rounds.
    package struct Summary: Codable, Equatable, Sendable {
        package var tool: Tool
        package var rounds: Int
        package var wallSeconds: Double
        package var wallSecondsMinimum: Double
        package var wallSecondsMaximum: Double
        package var cpuSeconds: Double
        /// The largest peak of all rounds.
        package var peakBytes: Int64
        package var filesPerSecond: Double
        package var bytesPerSecond: Double
    }

    /// The time of `lfs` per second of another tool: the median of the rounds in which both ran.
    package struct Ratio: Codable, Equatable, Sendable {
        package var tool: Tool
        package var wall: Double
        package var cpu: Double
    }

    package init(
        endpoint: String, connections: Int, rounds: Int, workload: Workload, leastPeakBytes: Int64,
        tools: [InstalledTool], missing: [MissingTool], failures: [Failure], runs: [Run]
    ) {
        self.endpoint = endpoint
        self.connections = connections
        self.rounds = rounds
        self.workload = workload
        self.leastPeakBytes = leastPeakBytes
        self.tools = tools
        self.missing = missing
        self.failures = failures
        self.runs = runs
        summaries = tools.compactMap { tool in
            Summary(tool.tool, of: runs.filter { $0.tool == tool.tool }, workload: workload)
        }
        ratios = tools.compactMap { tool in tool.tool == .lfs ? nil : Ratio(to: tool.tool, in: runs) }
    }

    /// Returns the report as one JSON document.
    package func json() throws -> String { try JSONDocument.text(self) }
}

extension ThroughputReport.Summary {
    fileprivate init?(_ tool: Tool, of runs: [Run], workload: Workload) {
        let walls = runs.map(\.wallSeconds)
        guard let wall = walls.median, let minimum = walls.min(), let maximum = walls.max(),
            let cpu = runs.map(\.cpuSeconds).median, let peak = runs.map(\.peakBytes).max()
        else { return nil }
        self.init(
            tool: tool, rounds: runs.count, wallSeconds: wall, wallSecondsMinimum: minimum, wallSecondsMaximum: maximum,
            cpuSeconds: cpu, peakBytes: peak, filesPerSecond: Double(workload.files) / wall,
            bytesPerSecond: Double(workload.bytes) / wall)
    }
}

extension ThroughputReport.Ratio {
    fileprivate init?(to tool: Tool, in runs: [Run]) {
        let pairs = runs.filter { $0.tool == .lfs }.compactMap { own in
            runs.first { $0.tool == tool && $0.round == own.round }.map { (own: own, other: $0) }
        }
        guard let wall = pairs.map({ $0.own.wallSeconds / $0.other.wallSeconds }).median,
            let cpu = pairs.map({ $0.own.cpuSeconds / $0.other.cpuSeconds }).median
        else { return nil }
        self.init(tool: tool, wall: wall, cpu: cpu)
    }
}
