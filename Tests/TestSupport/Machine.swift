package import Foundation

/// The rights and programs of this machine that some tests need. A test skips itself where they are missing.
package enum Machine {
    /// Whether this process may mount file systems, which takes root on Linux.
    package static let canMount: Bool = probe { folder in
        try mount(folder, kilobytes: 64)
        try runTool("umount", ["-l", folder.path])
    }

    /// Whether `PATH` leads to a program.
    package static func has(_ program: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains { folder in
            FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)")
        }
    }

    /// Returns whether a file that holds a file system can be mounted, which takes root, its `mkfs` and a loop device.
    package static func canMountImage(of fileSystem: String) -> Bool {
        probe { folder in
            let image = folder.child("image")
            let disk = folder.child("disk")
            try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
            try makeImage(at: image, fileSystem: fileSystem)
            try require("mount", ["-o", "loop", image.path, disk.path])
            try runTool("umount", [disk.path])
        }
    }

    /// Makes a file that holds an empty file system.
    package static func makeImage(at image: URL, fileSystem: String) throws {
        try Data().write(to: image)
        let file = try FileHandle(forWritingTo: image)
        // XFS takes no less. It is sparse.
        try file.truncate(atOffset: fileSystem == "xfs" ? 300 << 20 : 32 << 20)
        try file.close()
        try require("mkfs.\(fileSystem)", ["-q", image.path])
    }

    /// Mounts a file system in memory at a folder.
    static func mount(_ folder: URL, kilobytes: Int) throws {
        try require("mount", ["-t", "tmpfs", "-o", "size=\(kilobytes)k,mode=0700", "lfs-test", folder.path])
    }

    private static func require(_ tool: String, _ arguments: [String]) throws {
        let status = try ToolRun(tool, arguments).run()
        guard status == 0 else {
            throw ToolFailure(what: ([tool] + arguments).joined(separator: " "), reason: "exit status \(status)")
        }
    }

    /// Returns whether a body succeeds in a temporary folder, and prints why it does not.
    private static func probe(_ body: (URL) throws -> Void) -> Bool {
        #if os(Linux)
        let folder = FileManager.default.temporaryDirectory.child("lfs-test-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let result = Result { try body(folder) }
            try FileManager.default.removeItem(at: folder)
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
