package import Foundation

/// A disk with a file system of its own that can be pulled out while files on it are open, and put back.
///
/// It is ext4 on a loop device. Shutting it down makes every access fail with EIO, as when a cable is pulled; what was
/// synced before is there when it is mounted again.
package struct PulledDisk: Sendable {
    package let folder: URL
    private let image: URL

    /// Runs a test on one. Returns nil, with the reason on standard output, where none can be mounted: that takes root
    /// on Linux.
    package static func with<Result>(_ body: (PulledDisk) async throws -> Result) async throws -> Result? {
        try await withTemporaryFolder { parent in
            let disk = PulledDisk(folder: parent.child("disk"), image: parent.child("image"))
            guard try disk.make() else {
                print("skipped: no disk can be mounted here, which takes root on Linux")
                return nil
            }
            do {
                let result = try await body(disk)
                try disk.unmount()
                return result
            } catch {
                try disk.unmount()
                throw error
            }
        }
    }

    private func make() throws -> Bool {
        #if os(Linux)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data().write(to: image)
        let file = try FileHandle(forWritingTo: image)
        try file.truncate(atOffset: 16 << 20)
        try file.close()
        guard try runTool("mkfs.ext4", ["-q", image.path]) else { return false }
        return try mount(image)
        #else
        return false
        #endif
    }

    private func mount(_ image: URL) throws -> Bool { try runTool("mount", ["-o", "loop", image.path, folder.path]) }
    private func unmount() throws { try runTool("umount", ["-l", folder.path]) }

    /// - Parameter isUnmounted: whether the system notices and takes the dead file system away, as desktops do.
    package func pull(isUnmounted: Bool) throws {
        guard try runTool("xfs_io", ["-x", "-c", "shutdown", folder.path]) else {
            throw ToolFailure(what: "xfs_io", reason: "could not shut \(folder.path) down")
        }
        if isUnmounted { try unmount() }
    }

    package func putBack(wasUnmounted: Bool) throws {
        if !wasUnmounted { try unmount() }
        // The system keeps the dead file system for as long as a file on it is open, and a disk that is back is
        // another.
        let again = image.appendingPathExtension("again")
        try FileManager.default.copyItem(at: image, to: again)
        guard try mount(again) else { throw ToolFailure(what: "mount", reason: "could not mount \(again.path)") }
    }
}
