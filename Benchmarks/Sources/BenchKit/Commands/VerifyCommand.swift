import ArgumentParser
import Foundation

struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare 'uploader verify' with what it takes to list the same objects.",
        discussion: """
            Uploads many tiny files once, below a prefix of its own in the bucket, where
            they stay. Then each tool runs in turn: the uploader compares rows, local files
            and objects, without reading content; rclone and aws list the objects and do
            nothing else. Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var tools: ToolOptions

    @Option(name: .long, help: "How many files.")
    var files = 100_000

    @Option(name: .long, help: "How many times each tool runs.")
    var rounds = 5

    @Option(name: .long, help: "How many uploads run at once while the files are made.")
    var connections = 32

    @Flag(name: .long, help: "Print one JSON document with every run.")
    var json = false

    func validate() throws {
        try server.requireBucket()
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
        guard (1...1_000).contains(rounds) else { throw ValidationError("--rounds has to be from 1 to 1000.") }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections has to be from 1 to 1000.")
        }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let report = try measure(
                try server.server(from: environment), environment: environment, temporary: temporary, runner: runner)
            let title =
                "\(Format.count(files, noun: "object")) at \(report.endpoint), \(Format.count(rounds, noun: "round"))"
            Console.result(json ? try report.json() : ThroughputTable(report, title: title).description)
            return report.failures.isEmpty
        }
    }

    private func measure(
        _ server: S3Server, environment: [String: String], temporary: TemporaryFolder, runner: ChildRunner
    ) throws -> ThroughputReport {
        let finder = ToolFinder(given: tools.given, environment: environment, runner: runner)
        let (installed, missing) = try finder.find(tools.tools.filter(Verification.tools.contains))
        guard let uploader = try finder.find([.lfs]).installed.first else { throw BenchError("There is no uploader.") }

        let workload = Workload(files: files, bytesPerFile: 16)
        let source = try temporary.makeFolder("files")
        try workload.make(in: source) { if runner.interruption != nil { throw Interrupted() } }
        let prefix = "lfs-bench/\(UUID().uuidString.prefix(8).lowercased())"
        let scratch = try temporary.makeFolder("database")
        let upload = Upload(
            workload: workload, source: source, destination: .bucket(server), prefix: prefix,
            connections: connections, scratch: scratch, obstoreScript: "", environment: environment)
        Console.message("uploading \(Format.count(files, noun: "file"))")
        let made = try runner.run(try upload.command(with: uploader))
        guard made.succeeded else { throw BenchError("The files cannot be uploaded: \(made.reason())") }

        let verification = Verification(
            server: server, prefix: prefix, database: "\(scratch)/bench.db", environment: environment)
        let (runs, failures) = try Rounds(tools: installed, rounds: rounds, workload: workload).run { tool, _ in
            Disk.settle()
            let result = try runner.run(try verification.command(with: tool))
            guard result.succeeded else { throw BenchError(result.reason()) }
            return result.cost
        }
        return ThroughputReport(
            endpoint: server.endpoint, connections: 1, rounds: rounds, workload: workload,
            leastPeakBytes: Cost.ownPeakBytes(), tools: installed, missing: missing, failures: failures, runs: runs)
    }
}
