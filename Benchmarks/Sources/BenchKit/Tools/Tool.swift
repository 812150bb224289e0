/// What copies files, in the order in which it is shown.
package enum Tool: String, CaseIterable, Codable, Sendable {
    /// The uploader of this package: attaches the files to a database, uploads them and writes the result back.
    case lfs
    /// The same way in plain C, which is the limit: `Benchmarks/Sources/WholeWay`.
    case wholeWay = "whole-way"
    /// Rust's object_store from Python, through `Benchmarks/obstore-copy.py`.
    case obstore
    case s5cmd
    case rclone
    case aws
    case curl
    /// With a sync afterwards.
    case cp

    /// What is looked for in PATH.
    var executableName: String {
        switch self {
        case .lfs: "uploader"
        case .obstore: "python3"
        case .wholeWay, .s5cmd, .rclone, .aws, .curl, .cp: rawValue
        }
    }
}

/// A tool as it was found on this machine.
package struct InstalledTool: Codable, Equatable, Sendable {
    package var tool: Tool
    package var executable: String

    package init(_ tool: Tool, executable: String) {
        self.tool = tool
        self.executable = executable
    }
}

/// A tool that takes no part.
package struct MissingTool: Codable, Equatable, Sendable {
    package var tool: Tool
    package var reason: String

    package init(_ tool: Tool, reason: String) {
        self.tool = tool
        self.reason = reason
    }
}
