import Foundation

/// A comparison of the library with tools that do the same work on objects of a bucket in turn.
struct BucketComparison {
    var work: BucketWork
    var tools: [InstalledTool]
    var rounds: Int
    var workload: Workload
    /// The folder with the files.
    var source: String
    var server: S3Server
    /// The prefix of this benchmark, which contains all uploads.
    var prefix: String
    var connections: Int
    var environment: [String: String]
    var temporary: TemporaryFolder
    var runner: ChildRunner

    /// Runs the comparison. A tool that fails is excluded from later rounds, and the others continue.
    ///
    /// - Throws: `BenchError` if the files cannot be uploaded, `Interrupted`.
    func run() throws -> (runs: [Run], failures: [Failure]) {
        // Objects that are only read are shared by all runs.
        let shared = work == .download ? try upload("shared") : nil
        return try Rounds(tools: tools, rounds: rounds, workload: workload).run { tool, round in
            let name = "\(round + 1)-\(tool.tool.rawValue)"
            let objects = try shared ?? upload(name)
            let command = try command(tool, objects: objects, scratch: try temporary.makeFolder("\(name)-scratch"))
            Disk.settle()
            let result = try runner.run(command)
            guard result.succeeded else { throw BenchError(result.reason()) }
            return result.cost
        }
    }

    /// Uploaded files: the folder of the database, and the prefix and keys of the objects.
    private struct Objects {
        var folder: String
        var prefix: String
        var keys: [String]
    }

    private func upload(_ name: String) throws -> Objects {
        let folder = try temporary.makeFolder(name)
        let prefix = "\(prefix)/\(name)"
        try probe(["upload", "--source", source], prefix: prefix, folder: folder)
        let keys = try String(contentsOfFile: "\(folder)/\(BucketProbe.keysFile)", encoding: .utf8)
            .split(separator: "\n").map(String.init)
        guard keys.count == workload.files else {
            throw BenchError("\(keys.count) of \(workload.files) files were uploaded.")
        }
        return Objects(folder: folder, prefix: prefix, keys: keys)
    }

    private func command(_ tool: InstalledTool, objects: Objects, scratch: String) throws -> ChildCommand {
        if tool.tool == .lfs {
            guard work == .download else {
                return try probes.command(arguments(["delete"], prefix: objects.prefix, folder: objects.folder))
            }
            try HostFolder.copyWithoutFiles(from: objects.folder, to: scratch)
            return try probes.command(arguments(["download"], prefix: objects.prefix, folder: scratch))
        }
        return try BucketCommand(
            work, server: server, prefix: objects.prefix, keys: objects.keys, connections: connections,
            scratch: scratch, environment: environment
        ).command(with: tool)
    }

    private var probes: ProbeRunner {
        ProbeRunner(runner: runner, environment: server.environment(from: environment))
    }

    private func probe(_ start: [String], prefix: String, folder: String) throws {
        try probes.run(arguments(start, prefix: prefix, folder: folder))
    }

    private func arguments(_ start: [String], prefix: String, folder: String) -> [String] {
        start + [
            "--bucket", server.bucket, "--prefix", prefix, "--connections", "\(connections)", "--folder", folder,
        ] + (server.provider.map { ["--provider", $0] } ?? [])
    }
}
