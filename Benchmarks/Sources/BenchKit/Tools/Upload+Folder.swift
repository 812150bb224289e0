import Foundation

/// The commands of the tools for a folder.
extension Upload {
    func command(with installed: InstalledTool, toFolder target: String) throws -> ChildCommand {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        var command = ChildCommand(installed.executable, arguments: [], environment: environment)
        switch installed.tool {
        case .lfs: command.arguments = pushArguments(to: "dir:\(target)")
        case .wholeWay: command.arguments = [source, database, "dir", target]
        case .rclone:
            command.arguments = ["copy", "--transfers", "\(connections)", source, target]
            command.environment["RCLONE_CONFIG"] = ""  // no file
        case .cp:
            // The paths are arguments, so that the shell does not interpret them.
            command = ChildCommand(
                "/bin/sh", arguments: ["-c", Self.copyAndSync, "sh", installed.executable, source, target])
            command.environment = environment
        case .obstore, .s5cmd, .aws, .curl: throw BenchError.takesNoPart(installed.tool)
        }
        return command
    }

    /// cp does not sync its files, so the script syncs the file system afterwards. If `sync` accepts no names, it syncs
    /// all file systems.
    private static let copyAndSync = #""$1" -R "$2" "$3" && { sync -f "$3" 2>/dev/null || sync; }"#
}
