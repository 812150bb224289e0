import Foundation

/// A command of an external tool that processes all objects below a prefix.
package struct BucketCommand: Sendable {
    package var work: BucketWork
    package var server: S3Server
    package var prefix: String
    /// The keys of all objects.
    package var keys: [String]
    package var connections: Int
    /// An empty folder for the tool's own files and for downloads.
    package var scratch: String
    package var environment: [String: String]

    package init(
        _ work: BucketWork, server: S3Server, prefix: String, keys: [String], connections: Int, scratch: String,
        environment: [String: String]
    ) {
        self.work = work
        self.server = server
        self.prefix = prefix
        self.keys = keys
        self.connections = connections
        self.scratch = scratch
        self.environment = environment
    }

    /// The tools that can take part, in addition to the library.
    package static let tools: [Tool] = [.s5cmd, .rclone, .aws, .curl]

    /// - Throws: `BenchError` for another tool.
    package func command(with installed: InstalledTool) throws -> ChildCommand {
        var command = ChildCommand(
            installed.executable, arguments: [], environment: server.environment(from: environment))
        switch installed.tool {
        case .s5cmd:
            let start = ["--endpoint-url", server.endpoint, "--numworkers", "\(connections)", "--log", "error"]
            switch work {
            case .download: command.arguments = start + ["cp", url + "*", folder]
            case .delete: command.arguments = start + ["rm", url + "*"]
            }
        case .rclone:
            let remote = "bench:\(server.bucket)/\(prefix)"
            command.environment.merge(server.rcloneEnvironment) { _, new in new }
            switch work {
            case .download: command.arguments = ["copy", "--transfers", "\(connections)", remote, folder]
            case .delete: command.arguments = ["delete", "--checkers", "\(connections)", remote]
            }
        case .aws:
            let start = ["--endpoint-url", server.endpoint, "s3"]
            command.environment["AWS_CONFIG_FILE"] = try AWSConfiguration.write(connections, in: scratch)
            switch work {
            case .download: command.arguments = start + ["cp", "--recursive", "--only-show-errors", url, folder]
            case .delete: command.arguments = start + ["rm", "--recursive", "--only-show-errors", url]
            }
        case .curl:
            command.arguments = [
                "--parallel", "--parallel-max", "\(connections)", "--config", try curlConfiguration(),
            ]
        case .lfs, .wholeWay, .obstore, .cp: throw BenchError.takesNoPart(installed.tool)
        }
        return command
    }

    private var url: String { "s3://\(server.bucket)/\(prefix)/" }
    private var folder: String { "\(scratch)/fetched/" }

    private func curlConfiguration() throws -> String {
        var options: [(name: String, value: String)] = []
        for (number, key) in keys.enumerated() {
            switch work {
            case .download: options.append(("output", "\(folder)\(number)"))
            case .delete:
                if number == 0 { options.append(("request", "DELETE")) }
                options.append(("output", "/dev/null"))
            }
            options.append(("url", S3URL.text(server, key: key)))
        }
        let path = scratch + "/curl.conf"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try CurlConfiguration(server, options: options).write(to: path)
        return path
    }
}
