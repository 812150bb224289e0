import Foundation

/// A check of everything below a prefix. The uploader compares it with its database, and the other tools only list it.
package struct Verification: Sendable {
    package var server: S3Server
    package var prefix: String
    /// The uploader's database, whose files are all below the prefix.
    package var database: String
    package var environment: [String: String]

    package init(server: S3Server, prefix: String, database: String, environment: [String: String]) {
        self.server = server
        self.prefix = prefix
        self.database = database
        self.environment = environment
    }

    /// The tools that can take part.
    package static let tools: [Tool] = [.lfs, .rclone, .aws]

    package func command(with installed: InstalledTool) throws -> ChildCommand {
        var command = ChildCommand(
            installed.executable, arguments: [], environment: server.environment(from: environment))
        switch installed.tool {
        case .lfs:
            command.arguments = [
                "verify", "--database", database, "--to", server.uploaderURL(prefix: prefix), "--progress", "none",
            ]
        case .rclone:
            command.arguments = ["lsf", "-R", "--files-only", "--fast-list", "bench:\(server.bucket)/\(prefix)"]
            command.environment.merge(server.rcloneEnvironment) { _, new in new }
        case .aws:
            command.arguments = [
                "--endpoint-url", server.endpoint, "s3", "ls", "--recursive", "s3://\(server.bucket)/\(prefix)/",
            ]
        case .wholeWay, .obstore, .s5cmd, .curl, .cp: throw BenchError.takesNoPart(installed.tool)
        }
        return command
    }
}
