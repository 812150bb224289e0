package import Foundation

/// The rights and programs of this machine that some tests need. A test skips itself where they are missing.
package enum Machine {
    /// True if this process may mount file systems, which requires root on Linux.
    package static let canMount: Bool = probe { folder in
        try mount(folder, kilobytes: 64)
        try runTool("umount", arguments: ["-l", folder.path])
    }

    /// Returns true if `PATH` contains the program.
    package static func has(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains { folder in
            FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)")
        }
    }

    /// Returns whether a file that holds a file system can be mounted. This requires root, its `mkfs` and a loop
    /// device.
    package static func canMountImage(of fileSystem: String) -> Bool {
        probe { folder in
            let image = folder.child("image")
            let disk = folder.child("disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
            try makeImage(at: image, fileSystem: fileSystem)
            try require("mount", arguments: ["-o", "loop", image.path, disk.path])
            try runTool("umount", arguments: [disk.path])
        }
    }

    /// Creates a file that holds an empty file system.
    package static func makeImage(at image: URL, fileSystem: String) throws {
        try Data().write(to: image)
        let file = try FileHandle(forWritingTo: image)
        // XFS requires at least 300 MiB. The file is sparse.
        try file.truncate(atOffset: fileSystem == "xfs" ? 300 << 20 : 32 << 20)
        try file.close()
        try require("mkfs.\(fileSystem)", arguments: ["-q", image.path])
    }

    /// Mounts an in-memory file system at a folder.
    static func mount(_ folder: URL, kilobytes: Int) throws {
        try require("mount", arguments: ["-t", "tmpfs", "-o", "size=\(kilobytes)k,mode=0700", "lfs-test", folder.path])
    }

    private static func require(_ tool: String, arguments: [String]) throws {
        let status = try ToolRun(tool, arguments: arguments).run()
        guard status == 0 else {
            throw ToolFailure(what: ([tool] + arguments).joined(separator: " "), reason: "exit status \(status)")
        }
    }

    /// Returns whether a body succeeds in a temporary folder. Prints the reason of a failure.
    private static func probe(_ body: (URL) throws -> Void) -> Bool {
        #if os(Linux)
        let folder = FileManager.default.temporaryDirectory.child("lfs-test-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let result = Result { try body(folder) }
            try removeFolder(folder)
            try result.get()
            return true
        } catch {
            print("Tests that need this are skipped: \(error)")
            return false
        }
        #else
        return false
        #endif
    }
}
