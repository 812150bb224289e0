/// A successful run of a tool.
package struct Run: Codable, Equatable, Sendable {
    package var tool: Tool
    /// The number of the round, from 1.
    package var round: Int
    package var wallSeconds: Double
    package var userSeconds: Double
    package var systemSeconds: Double
    package var cpuSeconds: Double
    package var peakBytes: Int64
    package var bytes: Int64

    package init(tool: Tool, round: Int, cost: Cost, workload: Workload) {
        self.tool = tool
        self.round = round
        wallSeconds = cost.wallSeconds
        userSeconds = cost.userSeconds
        systemSeconds = cost.systemSeconds
        cpuSeconds = cost.cpuSeconds
        peakBytes = cost.peakBytes
        bytes = workload.bytes
    }
}

/// A failed run, which excludes its tool from later rounds.
package struct Failure: Codable, Equatable, Sendable {
    package var tool: Tool
    package var round: Int
    package var reason: String

    package init(tool: Tool, round: Int, reason: String) {
        self.tool = tool
        self.round = round
        self.reason = reason
    }
}
