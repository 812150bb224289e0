import Foundation

/// Does the same work on objects of a bucket by the library and by the tools, in turn.
struct BucketComparison {
    var work: BucketWork
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload
    /// Where the files are.
    var source: String
    var server: S3Server
    /// Of this benchmark; what it uploads is below it.
    var prefix: String
    var connections: Int
    var environment: [String: String]
    var temporary: TemporaryFolder
    var runner: ChildRunner

    /// A tool that fails takes no part in what follows, and the others go on.
    ///
    /// - Throws: `BenchError` when the files cannot be uploaded, `Interrupted`.
    func run() throws -> (runs: [Run], failures: [Failure]) {
        // Objects that are only read serve everybody.
        let shared = work == .download ? try upload("shared") : nil
        return try Rounds(tools: tools, rounds: rounds, workload: workload).run { tool, round in
            let name = "\(round + 1)-\(tool.tool.rawValue)"
            let objects = try shared ?? upload(name)
            let command = try command(tool, objects, scratch: try temporary.makeFolder("\(name)-scratch"))
            Disk.settle()
            let result = try runner.run(command)
            guard result.succeeded else { throw BenchError(result.reason()) }
            return result.cost
        }
    }

    /// Files that the library has uploaded: where its database is, and the prefix of the objects.
    private struct Objects {
        var folder: String
        var prefix: String
        var keys: [String]
    }

    private func upload(_ name: String) throws -> Objects {
        let folder = try temporary.makeFolder(name)
        let prefix = "\(prefix)/\(name)"
        try probe(["upload", "--source", source], prefix, folder)
        let keys = try String(contentsOfFile: "\(folder)/\(BucketProbe.keysFile)", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        guard keys.count == workload.files else {
            throw BenchError("\(keys.count) of \(workload.files) files were uploaded.")
        }
        return Objects(folder: folder, prefix: prefix, keys: keys)
    }

    private func command(_ tool: InstalledTool, _ objects: Objects, scratch: String) throws -> ChildCommand {
        if tool.tool == .lfs {
            guard work == .download else {
                return try probes.command(arguments(["delete"], objects.prefix, objects.folder))
            }
            try HostFolder.copyWithoutFiles(from: objects.folder, to: scratch)
            return try probes.command(arguments(["download"], objects.prefix, scratch))
        }
        return try BucketCommand(
            work, server: server, prefix: objects.prefix, keys: objects.keys, connections: connections,
            scratch: scratch, environment: environment
        ).command(with: tool)
    }

    private var probes: ProbeRunner {
        ProbeRunner(runner: runner, environment: server.environment(from: environment))
    }

    private func probe(_ start: [String], _ prefix: String, _ folder: String) throws {
        try probes.run(arguments(start, prefix, folder))
    }

    private func arguments(_ start: [String], _ prefix: String, _ folder: String) -> [String] {
        start + [
            "--bucket", server.bucket, "--prefix", prefix, "--connections", "\(connections)", "--folder", folder,
        ] + (server.provider.map { ["--provider", $0] } ?? [])
    }
}
