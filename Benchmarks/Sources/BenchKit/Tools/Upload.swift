import Foundation

/// One copy of all files into a prefix of its own, or into a folder of its own.
package struct Upload: Sendable {
    package var workload: Workload
    /// Where the files are.
    package var source: String
    package var destination: Destination
    package var prefix: String
    /// How many requests run at once at the most.
    package var connections: Int
    /// An empty folder for what the tool itself needs.
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

    /// The command that copies everything. Its configuration is written into the scratch folder, and the folder that it
    /// copies to is made.
    ///
    /// - Throws: `BenchError` for a tool that does not copy to such a place.
    package func command(with installed: InstalledTool) throws -> ChildCommand {
        switch destination {
        case .bucket(let server): try command(with: installed, to: server)
        case .folder(let folder): try command(with: installed, toFolder: "\(folder)/\(prefix)")
        }
    }

    /// The uploader's database, or that of the whole way in C.
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
