import ArgumentParser
import Foundation

struct ThroughputCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "throughput",
        abstract: "Copy the same files to the same place with each tool in turn, and compare.",
        discussion: """
            Keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Files and databases
            are made in TMPDIR. Every run has a prefix of its own below lfs-bench/ in the
            bucket, or a folder of its own below lfs-bench/ in the folder; what was copied
            stays there. Of the tools only lfs and whole-way, the same way in plain C, keep
            a database and prove each file; to a folder they also sync each file, rclone
            syncs nothing, and cp is followed by one sync of the file system.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var tools: ToolOptions

    @Option(name: .long, help: "A folder to copy to instead of a bucket. Only some tools support it.")
    var toFolder: String?

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
        if toFolder == nil {
            try server.requireBucket()
        } else if server.bucket != nil || check {
            throw ValidationError("--to-folder cannot be combined with --bucket or --check.")
        }
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
        guard (1...1_000).contains(rounds) else { throw ValidationError("--rounds has to be from 1 to 1000.") }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections has to be from 1 to 1000.")
        }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let report = try measure(
                try destination(from: environment), environment: environment, temporary: temporary, runner: runner)
            Console.result(json ? try report.json() : ThroughputTable(report).description)
            return report.failures.isEmpty
        }
    }

    private func destination(from environment: [String: String]) throws -> Destination {
        guard let toFolder else { return .bucket(try server.server(from: environment)) }
        let folder = URL(fileURLWithPath: toFolder).path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw BenchError("\(folder) is not a folder. Create it first.")
        }
        return .folder(folder)
    }

    private func measure(
        _ destination: Destination, environment: [String: String], temporary: TemporaryFolder,
        runner: ChildRunner
    ) throws -> ThroughputReport {
        let finder = ToolFinder(given: tools.given, environment: environment, runner: runner)
        let (installed, missing) = try finder.find(tools.tools.filter(destination.tools.contains))
        guard !installed.isEmpty else {
            let reasons = missing.isEmpty ? "none of them copies there" : missing.map(\.reason).joined(separator: "; ")
            throw BenchError("None of the tools takes part: \(reasons).")
        }
        let workload = Workload(files: files, bytesPerFile: size.bytes)
        let checkObjects = try inquire(
            destination, finder: finder, environment: environment, temporary: temporary, runner: runner)
        let source = try temporary.makeFolder("files")
        try workload.make(in: source) { if runner.interruption != nil { throw Interrupted() } }
        let script =
            try installed.contains { $0.tool == .obstore } ? tools.obstoreScript ?? ToolFinder.obstoreScript() : ""
        let prefix = "lfs-bench/\(UUID().uuidString.prefix(8).lowercased())"
        let comparison = Comparison(
            tools: installed, rounds: rounds, workload: workload, source: source, destination: destination,
            prefix: prefix, connections: connections, obstoreScript: script, environment: environment,
            temporary: temporary, runner: runner, check: checkObjects.map { check in { try check($0, workload) } })
        let (runs, failures) = try comparison.run()
        return ThroughputReport(
            endpoint: destination.name, connections: connections, rounds: rounds, workload: workload,
            leastPeakBytes: Cost.ownPeakBytes(), tools: installed, missing: missing, failures: failures, runs: runs)
    }

    /// Checks with curl that the bucket exists, if curl is installed. curl need not take part in the comparison.
    ///
    /// - Returns: the check of `--check` after each run, or nil without that option.
    private func inquire(
        _ destination: Destination, finder: ToolFinder, environment: [String: String],
        temporary: TemporaryFolder, runner: ChildRunner
    ) throws -> ((_ prefix: String, Workload) throws -> Void)? {
        guard case .bucket(let server) = destination else { return nil }
        let helpers = try finder.find([.aws, .curl]).installed
        let inquiry = ServerCheck(server: server, runner: runner, environment: environment, folder: temporary.path)
        if let curl = helpers.first(where: { $0.tool == .curl }) { try inquiry.checkBucket(curl: curl.executable) }
        guard check else { return nil }
        guard let aws = helpers.first(where: { $0.tool == .aws }) else {
            throw BenchError("--check needs aws, and there is none.")
        }
        return { prefix, workload in
            try inquiry.checkObjects(aws: aws.executable, prefix: prefix, workload: workload)
        }
    }
}
