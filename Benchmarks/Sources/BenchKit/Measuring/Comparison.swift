import Foundation

/// A comparison that runs every tool in every round and collects the costs.
struct Comparison {
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload
    var source: String
    var destination: Destination
    /// The prefix of this benchmark. Every run has its own prefix below it.
    var prefix: String
    var connections: Int
    var obstoreScript: String
    var environment: [String: String]
    var temporary: TemporaryFolder
    var runner: ChildRunner
    /// An untimed check after each run. Its errors count as errors of the run.
    var check: ((_ prefix: String) throws -> Void)?

    /// Runs the comparison. A tool that fails is excluded from later rounds, and the others continue.
    ///
    /// - Throws: `Interrupted`.
    func run() throws -> (runs: [Run], failures: [Failure]) {
        try Rounds(tools: tools, rounds: rounds, workload: workload).run(run)
    }

    private func run(_ tool: InstalledTool, round: Int) throws -> Cost {
        let name = "\(round + 1)-\(tool.tool.rawValue)"
        let scratch = try temporary.makeFolder(name)
        let upload = Upload(
            workload: workload, source: source, destination: destination, prefix: "\(prefix)/\(name)",
            connections: connections, scratch: scratch, obstoreScript: obstoreScript, environment: environment)
        let command = try upload.command(with: tool)
        // Cached writes of the previous run must not be written during this one.
        Disk.settle()
        let result = try runner.run(command)
        // The files are removed with the whole temporary folder later. After many removals, ext4 searches long for the
        // place of a new file, which would slow down the next run.
        guard result.succeeded else { throw BenchError(result.reason()) }
        try check?(upload.prefix)
        return result.cost
    }
}
