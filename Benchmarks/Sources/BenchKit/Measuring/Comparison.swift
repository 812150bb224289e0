import Foundation

/// Runs every tool in every round and collects what each run cost.
struct Comparison {
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload
    var source: String
    var destination: Destination
    /// Of this benchmark; every run has its own below it.
    var prefix: String
    var connections: Int
    var obstoreScript: String
    var environment: [String: String]
    var temporary: TemporaryFolder
    var runner: ChildRunner
    /// After each run, not timed; its errors count as the run's.
    var check: ((_ prefix: String) throws -> Void)?

    /// A tool that fails takes no part in what follows, and the others go on.
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
        // What the run before left in the caches is not to be written during this one.
        Disk.settle()
        let result = try runner.run(command)
        // It goes with the whole temporary folder: ext4 searches long for a new file's place when many were removed
        // shortly before, which the next run would pay for.
        guard result.succeeded else { throw BenchError(result.reason()) }
        try check?(upload.prefix)
        return result.cost
    }
}
