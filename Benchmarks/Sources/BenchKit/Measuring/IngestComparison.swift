/// A comparison of the library, the C program and `cp`, which ingest the same files in turn.
struct IngestComparison {
    var small: (workload: Workload, folder: String)
    var large: (workload: Workload, folder: String)
    var tools: [InstalledTool]
    var rounds: Int
    var environment: [String: String]
    var temporary: TemporaryFolder
    var runner: ChildRunner

    /// - Throws: `BenchError` if a run fails, `Interrupted`.
    func run() throws -> [IngestSample] {
        var samples: [IngestSample] = []
        for round in 0..<rounds {
            for measure in IngestMeasure.allCases {
                let parts = tools.filter { measure.tools.contains($0.tool) }
                for tool in Schedule.order(of: parts, round: round) {
                    let scratch = try temporary.makeFolder("\(round)-\(measure.rawValue)-\(tool.tool.rawValue)")
                    // Cached writes of the previous run must not be written during this one.
                    Disk.settle()
                    let times = try run(measure, tool: tool, scratch: scratch)
                    samples.append(IngestSample(measure: measure, tool: tool.tool, round: round + 1, times: times))
                    Console.message(
                        "\(measure.rawValue), \(tool.tool.rawValue), round \(round + 1) of \(rounds): "
                            + "\(Format.decimal(times.seconds, places: 3)) s")
                }
            }
        }
        return samples
    }

    private func run(_ measure: IngestMeasure, tool: InstalledTool, scratch: String) throws -> IngestTimes {
        let (workload, source) = measure == .large ? large : small
        switch tool.tool {
        case .lfs:
            let way = measure == .batches ? "--batches" : "--each"
            let arguments = ["ingest", way, "--source", source, "--folder", scratch]
            return try ProbeRunner(runner: runner, environment: environment)
                .run(arguments, as: IngestTimes.self).value
        case .wholeWay:
            let way = measure == .batches ? "ingest" : "each"
            let result = try succeed(ChildCommand(tool.executable, arguments: [source, "\(scratch)/bench.db", way]))
            return try JSONDocument.value(WholeWayTimes.self, from: result.output).times
        default:
            let copy = Upload(
                workload: workload, source: source, destination: .folder(scratch), prefix: "copy", connections: 1,
                scratch: scratch, obstoreScript: "", environment: environment)
            let result = try succeed(try copy.command(with: tool))
            return IngestTimes(files: workload.files, seconds: result.cost.wallSeconds, each: nil)
        }
    }

    private func succeed(_ command: ChildCommand) throws -> ChildResult {
        let result = try runner.run(command)
        guard result.succeeded else { throw BenchError("\(command.executable) failed: \(result.reason())") }
        return result
    }
}

/// The output of the C program for `ingest` and `each`.
private struct WholeWayTimes: Decodable {
    var files: Int
    var seconds: Double
    var p50, p99, longest: Double?

    var times: IngestTimes {
        guard let p50, let p99, let longest else { return IngestTimes(files: files, seconds: seconds, each: nil) }
        return IngestTimes(
            files: files, seconds: seconds,
            each: Latencies(count: files, median: p50, p99: p99, maximum: longest))
    }
}
