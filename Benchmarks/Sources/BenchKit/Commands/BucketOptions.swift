import ArgumentParser
import Foundation

/// The common options of commands that work on objects of a bucket.
struct BucketOptions: ParsableArguments {
    @OptionGroup var server: ServerOptions
    @OptionGroup var tools: ToolOptions

    @Option(name: .long, help: "How many files.")
    var files = 2_000

    @Option(name: .long, help: "The size of each: 10KiB, 512MiB.")
    var size = ByteSize(bytes: 10_240)

    @Option(name: .long, help: "How many requests may run at once.")
    var connections = 10

    @OptionGroup var rounds: RoundOptions

    func validate() throws {
        try server.requireBucket()
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections has to be from 1 to 1000.")
        }
    }

    /// - Parameter title: creates the start of the table's title from the description of the files.
    func run(_ work: BucketWork, title: (String) -> String) throws {
        try measuring { environment, temporary, runner in
            let report = try measure(work, environment: environment, temporary: temporary, runner: runner)
            let what = "\(Format.count(files, noun: "file")) of \(Format.bytes(size.bytes))"
            let text =
                "\(title(what)) \(report.endpoint), \(Format.count(connections, noun: "connection")), "
                + Format.count(rounds.rounds, noun: "round")
            Console.result(rounds.json ? try report.json() : ThroughputTable(report, title: text).description)
            return report.failures.isEmpty
        }
    }

    private func measure(
        _ work: BucketWork, environment: [String: String], temporary: TemporaryFolder, runner: ChildRunner
    ) throws -> ThroughputReport {
        let server = try server.server(from: environment)
        let finder = ToolFinder(given: tools.given, environment: environment, runner: runner)
        let (installed, missing) = try finder.find(tools.tools.filter(BucketCommand.tools.contains))
        let workload = Workload(files: files, bytesPerFile: size.bytes)
        let source = try temporary.makeFolder("files")
        try workload.make(in: source) { if runner.interruption != nil { throw Interrupted() } }
        // This program runs the library itself (see `ProbeRunner`).
        let own = tools.tools.contains(.lfs) ? [InstalledTool(.lfs, executable: try ProbeRunner.program())] : []
        let all = own + installed
        let (runs, failures) = try BucketComparison(
            work: work, tools: all, rounds: rounds.rounds, workload: workload, source: source, server: server,
            prefix: "lfs-bench/\(UUID().uuidString.prefix(8).lowercased())", connections: connections,
            environment: environment, temporary: temporary, runner: runner
        ).run()
        return ThroughputReport(
            endpoint: server.endpoint, connections: connections, rounds: rounds.rounds, workload: workload,
            leastPeakBytes: Cost.ownPeakBytes(), tools: all, missing: missing, failures: failures, runs: runs)
    }
}
