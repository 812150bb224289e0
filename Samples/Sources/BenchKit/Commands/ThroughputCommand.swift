import ArgumentParser
import Foundation

struct ThroughputCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput",
        abstract: "Copy the same files to the same bucket with each tool in turn, and compare.",
        discussion: """
            Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Files and databases
            are made in TMPDIR. Every run has a prefix of its own below lfs-bench/ in the
            bucket; what was uploaded stays there.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var tools: ToolOptions

    @Option(name: .long, help: "How many files.")
    var files = 2_000

    @Option(name: .long, help: "The size of each: 10KiB, 512MiB.")
    var size = ByteSize(bytes: 10_240)

    @Option(name: .long, help: "How many times each tool runs.")
    var rounds = 5

    @Option(name: .long, help: "How many requests a tool may run at once.")
    var connections = 10

    @Flag(name: .long, help: "Count the objects after each run, with aws.")
    var check = false

    @Flag(name: .long, help: "Print one JSON document with every run.")
    var json = false

    func validate() throws {
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
        guard (1...1_000).contains(rounds) else { throw ValidationError("--rounds has to be from 1 to 1000.") }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections has to be from 1 to 1000.")
        }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let report = try measure(try server.server(from: environment), environment, temporary, runner)
            Console.result(json ? try report.json() : ThroughputTable(report).description)
            return report.failures.isEmpty
        }
    }

    private func measure(
        _ server: S3Server, _ environment: [String: String], _ temporary: TemporaryFolder, _ runner: ChildRunner
    ) throws -> ThroughputReport {
        // Curl and aws are asked about the bucket even if they are not compared.
        let finder = ToolFinder(given: tools.given, environment: environment, runner: runner)
        let (installed, missing) = try finder.find(tools.tools)
        guard !installed.isEmpty else {
            throw BenchError("None of the tools is there: \(missing.map(\.reason).joined(separator: "; ")).")
        }
        let helpers = try finder.find([.aws, .curl]).installed
        let inquiry = ServerCheck(server: server, runner: runner, environment: environment, folder: temporary.path)
        if let curl = helpers.first(where: { $0.tool == .curl }) { try inquiry.checkBucket(curl: curl.executable) }
        let aws = helpers.first { $0.tool == .aws }
        if check, aws == nil { throw BenchError("--check needs aws, and there is none.") }

        let workload = Workload(files: files, bytesPerFile: size.bytes)
        let source = try temporary.makeFolder("files")
        try workload.make(in: source) { if runner.interruption != nil { throw Interrupted() } }
        let script =
            try installed.contains { $0.tool == .obstore } ? tools.obstoreScript ?? ToolFinder.obstoreScript() : ""
        let prefix = "lfs-bench/\(UUID().uuidString.prefix(8).lowercased())"
        let comparison = Comparison(
            tools: installed, rounds: rounds, workload: workload, source: source, server: server, prefix: prefix,
            connections: connections, obstoreScript: script, environment: environment, temporary: temporary,
            runner: runner,
            check: check
                ? { prefix in
                    guard let aws else { return }
                    try inquiry.checkObjects(aws: aws.executable, prefix: prefix, workload: workload)
                } : nil)
        let (runs, failures) = try comparison.run()
        return ThroughputReport(
            endpoint: server.endpoint, connections: connections, rounds: rounds, workload: workload,
            leastPeakBytes: Cost.ownPeakBytes(), tools: installed, missing: missing, failures: failures, runs: runs)
    }
}
