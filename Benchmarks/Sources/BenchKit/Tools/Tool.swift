/// A tool that copies files. The order of the cases is the order in tables.
package enum Tool: String, CaseIterable, Codable, Sendable {
    /// The uploader of this package. It attaches the files to a database, uploads them and records the result.
    case lfs
    /// The same steps in plain C as a lower bound: `Benchmarks/Sources/WholeWay`.
    case wholeWay = "whole-way"
    /// Rust's object_store from Python, through `Benchmarks/obstore-copy.py`.
    case obstore
    case s5cmd
    case rclone
    case aws
    case curl
    /// cp with a sync afterwards.
    case cp

    /// The name that is searched for in PATH.
    var executableName: String {
        switch self {
        case .lfs: "uploader"
        case .obstore: "python3"
        case .wholeWay, .s5cmd, .rclone, .aws, .curl, .cp: rawValue
        }
    }
}

/// A tool that was found on this machine.
package struct InstalledTool: Codable, Equatable, Sendable {
    package var tool: Tool
    package var executable: String

    package init(_ tool: Tool, executable: String) {
        self.tool = tool
        self.executable = executable
    }
}

/// A tool that does not take part.
package struct MissingTool: Codable, Equatable, Sendable {
    package var tool: Tool
    package var reason: String

    package init(_ tool: Tool, reason: String) {
        self.tool = tool
        self.reason = reason
    }
}
