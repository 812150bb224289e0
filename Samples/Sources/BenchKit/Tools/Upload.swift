import Foundation

/// One copy of all files into a prefix of its own.
package struct Upload: Sendable {
    package var workload: Workload
    /// Where the files are.
    package var source: String
    package var server: S3Server
    package var prefix: String
    /// How many requests run at once at the most.
    package var connections: Int
    /// An empty folder for what the tool itself needs.
    package var scratch: String
    package var obstoreScript: String
    package var environment: [String: String]

    package init(
        workload: Workload, source: String, server: S3Server, prefix: String, connections: Int, scratch: String,
        obstoreScript: String, environment: [String: String]
    ) {
        self.workload = workload
        self.source = source
        self.server = server
        self.prefix = prefix
        self.connections = connections
        self.scratch = scratch
        self.obstoreScript = obstoreScript
        self.environment = environment
    }

    /// The command that copies everything; its configuration is written into the scratch folder.
    package func command(with installed: InstalledTool) throws -> ChildCommand {
        var command = ChildCommand(
            installed.executable, [], environment: server.environment(from: environment))
        switch installed.tool {
        case .lfs: command.arguments = lfsArguments
        case .obstore: command.arguments = [obstoreScript, source, server.bucket, prefix, "\(connections)"]
        case .s5cmd: command.arguments = s5cmdArguments
        case .rclone:
            command.arguments = rcloneArguments
            command.environment.merge(server.rcloneEnvironment) { _, new in new }
        case .aws:
            command.arguments = awsArguments
            command.environment["AWS_CONFIG_FILE"] = try awsConfiguration()
        case .curl:
            command.arguments = [
                "--parallel", "--parallel-max", "\(connections)", "--config", try curlConfiguration(),
            ]
        }
        return command
    }

    /// Of the tools that limit files and the parts of one file apart, how many parts make up the connections.
    private var partsPerFile: Int { max(1, connections / min(workload.files, connections)) }

    private var destination: String { "s3://\(server.bucket)/\(prefix)/" }

    private var lfsArguments: [String] {
        return [
            "push", "--database", "\(scratch)/bench.db", "--to", server.uploaderURL(prefix: prefix),
            "--max-executors", "\(connections)", "--progress", "none", "--quiet", source,
        ]
    }

    private var s5cmdArguments: [String] {
        [
            "--endpoint-url", server.endpoint, "--numworkers", "\(connections)", "--log", "error", "cp",
            "--concurrency", "\(partsPerFile)", source + "/", destination,
        ]
    }

    private var rcloneArguments: [String] {
        [
            "copy", "--transfers", "\(connections)", "--s3-upload-concurrency", "\(partsPerFile)",
            "--s3-no-check-bucket", source, "bench:\(server.bucket)/\(prefix)",
        ]
    }

    private var awsArguments: [String] {
        ["--endpoint-url", server.endpoint, "s3", "cp", "--recursive", "--only-show-errors", source, destination]
    }

    private func awsConfiguration() throws -> String {
        let text = """
            [default]
            s3 =
              max_concurrent_requests = \(connections)
              addressing_style = path

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: scratch + "/aws.conf"))
        return scratch + "/aws.conf"
    }

    private func curlConfiguration() throws -> String {
        let transfers = workload.names.map { name in
            [("upload-file", "\(source)/\(name)"), ("url", S3URL.text(server, key: "\(prefix)/\(name)"))]
        }
        let path = scratch + "/curl.conf"
        try CurlConfiguration(server, transfers.flatMap(\.self)).write(to: path)
        return path
    }
}
