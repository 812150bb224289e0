/// Runs every tool once in every round and collects what each run cost.
struct Rounds {
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload

    /// A tool that fails takes no part in what follows, and the others go on.
    ///
    /// - Throws: `Interrupted`.
    func run(_ measure: (InstalledTool, _ round: Int) throws -> Cost) throws -> (runs: [Run], failures: [Failure]) {
        var (runs, failures): ([Run], [Failure]) = ([], [])
        for round in 0..<rounds {
            for tool in Schedule.order(of: tools, round: round)
            where !failures.contains(where: { $0.tool == tool.tool }) {
                let name = "\(tool.tool.rawValue), round \(round + 1) of \(rounds)"
                do {
                    let cost = try measure(tool, round)
                    runs.append(Run(tool: tool.tool, round: round + 1, cost: cost, workload: workload))
                    Console.message(
                        "\(name): \(Format.decimal(cost.wallSeconds, 2)) s, \(Format.decimal(cost.cpuSeconds, 2)) CPU s"
                    )
                } catch let error as BenchError {
                    failures.append(Failure(tool: tool.tool, round: round + 1, reason: error.description))
                    Console.message("\(name) failed: \(error)")
                }
            }
        }
        return (runs, failures)
    }
}
