import Foundation

/// The commands of the tools for a bucket.
extension Upload {
    func command(with installed: InstalledTool, to server: S3Server) throws -> ChildCommand {
        var command = ChildCommand(
            installed.executable, arguments: [], environment: server.environment(from: environment))
        switch installed.tool {
        case .lfs: command.arguments = pushArguments(to: server.uploaderURL(prefix: prefix))
        case .wholeWay:
            command.arguments = [source, database, "s3", server.endpoint, server.bucket, prefix, "\(connections)"]
        case .obstore: command.arguments = [obstoreScript, source, server.bucket, prefix, "\(connections)"]
        case .s5cmd: command.arguments = s5cmdArguments(server)
        case .rclone:
            command.arguments = rcloneArguments(server)
            command.environment.merge(server.rcloneEnvironment) { _, new in new }
        case .aws:
            command.arguments = awsArguments(server)
            command.environment["AWS_CONFIG_FILE"] = try AWSConfiguration.write(connections, in: scratch)
        case .curl:
            command.arguments = [
                "--parallel", "--parallel-max", "\(connections)", "--config", try curlConfiguration(server),
            ]
        case .cp: throw BenchError.takesNoPart(.cp)
        }
        return command
    }

    /// The number of parts per file that uses all connections, for tools with separate limits of files and parts.
    private var partsPerFile: Int { max(1, connections / min(workload.files, connections)) }

    private func url(in server: S3Server) -> String { "s3://\(server.bucket)/\(prefix)/" }

    private func s5cmdArguments(_ server: S3Server) -> [String] {
        [
            "--endpoint-url", server.endpoint, "--numworkers", "\(connections)", "--log", "error", "cp",
            "--concurrency", "\(partsPerFile)", source + "/", url(in: server),
        ]
    }

    private func rcloneArguments(_ server: S3Server) -> [String] {
        [
            "copy", "--transfers", "\(connections)", "--s3-upload-concurrency", "\(partsPerFile)",
            "--s3-no-check-bucket", source, "bench:\(server.bucket)/\(prefix)",
        ]
    }

    private func awsArguments(_ server: S3Server) -> [String] {
        [
            "--endpoint-url", server.endpoint, "s3", "cp", "--recursive", "--only-show-errors", source,
            url(in: server),
        ]
    }

    private func curlConfiguration(_ server: S3Server) throws -> String {
        let transfers = workload.names.map { name in
            [("upload-file", "\(source)/\(name)"), ("url", S3URL.text(server, key: "\(prefix)/\(name)"))]
        }
        let path = scratch + "/curl.conf"
        try CurlConfiguration(server, options: transfers.flatMap(\.self)).write(to: path)
        return path
    }
}
