/// A loop that runs every tool once per round and collects the costs.
struct Rounds {
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload

    /// Runs the rounds. A tool that fails is excluded from later rounds, and the others continue.
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
                        "\(name): \(Format.decimal(cost.wallSeconds, places: 2)) s, "
                            + "\(Format.decimal(cost.cpuSeconds, places: 2)) CPU s")
                } catch let error as BenchError {
                    failures.append(Failure(tool: tool.tool, round: round + 1, reason: error.description))
                    Console.message("\(name) failed: \(error)")
                }
            }
        }
        return (runs, failures)
    }
}
