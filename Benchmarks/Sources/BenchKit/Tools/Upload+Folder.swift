import Foundation

/// How the tools copy to a folder.
extension Upload {
    func command(with installed: InstalledTool, toFolder target: String) throws -> ChildCommand {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        var command = ChildCommand(installed.executable, [], environment: environment)
        switch installed.tool {
        case .lfs: command.arguments = pushArguments(to: "dir:\(target)")
        case .wholeWay: command.arguments = [source, database, "dir", target]
        case .rclone:
            command.arguments = ["copy", "--transfers", "\(connections)", source, target]
            command.environment["RCLONE_CONFIG"] = ""  // no file
        case .cp:
            // The names of the paths are arguments, so that the shell does not read them.
            command = ChildCommand("/bin/sh", ["-c", Self.copyAndSync, "sh", installed.executable, source, target])
            command.environment = environment
        case .obstore, .s5cmd, .aws, .curl: throw BenchError.takesNoPart(installed.tool)
        }
        return command
    }

    /// Of the tools that do not sync by themselves, this one is followed by a sync of the file system. Where `sync`
    /// takes no names, it is one of all file systems.
    private static let copyAndSync = #""$1" -R "$2" "$3" && { sync -f "$3" 2>/dev/null || sync; }"#
}
