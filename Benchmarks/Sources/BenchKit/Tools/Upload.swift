import Foundation

/// A copy of all files to a separate prefix or folder.
package struct Upload: Sendable {
    package var workload: Workload
    /// The folder with the files.
    package var source: String
    package var destination: Destination
    package var prefix: String
    /// The maximum number of concurrent requests.
    package var connections: Int
    /// An empty folder for the tool's own files.
    package var scratch: String
    package var obstoreScript: String
    package var environment: [String: String]

    package init(
        workload: Workload, source: String, destination: Destination, prefix: String, connections: Int,
        scratch: String, obstoreScript: String, environment: [String: String]
    ) {
        self.workload = workload
        self.source = source
        self.destination = destination
        self.prefix = prefix
        self.connections = connections
        self.scratch = scratch
        self.obstoreScript = obstoreScript
        self.environment = environment
    }

    /// Returns the command that copies everything. Writes its configuration into the scratch folder, and creates the
    /// destination folder.
    ///
    /// - Throws: `BenchError` for a tool that does not support the destination.
    package func command(with installed: InstalledTool) throws -> ChildCommand {
        switch destination {
        case .bucket(let server): try command(with: installed, to: server)
        case .folder(let folder): try command(with: installed, toFolder: "\(folder)/\(prefix)")
        }
    }

    /// The database of the uploader or of the C program.
    var database: String { "\(scratch)/bench.db" }

    func pushArguments(to storage: String) -> [String] {
        [
            "push", "--database", database, "--to", storage, "--max-executors", "\(connections)", "--progress", "none",
            "--quiet", source,
        ]
    }
}

extension BenchError {
    static func takesNoPart(_ tool: Tool) -> BenchError {
        BenchError("\(tool.rawValue) takes no part in this comparison.")
    }
}
