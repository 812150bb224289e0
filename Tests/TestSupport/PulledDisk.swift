package import Foundation

/// A disk with a file system of its own that can be pulled out while files on it are open, and put back.
///
/// It is ext4 on a loop device. Shutting it down makes every access fail with EIO, as when a cable is pulled; what was
/// synced before is there when it is mounted again.
package struct PulledDisk: Sendable {
    package let folder: URL
    private let image: URL

    /// Whether this machine can make and mount one.
    package static let isAvailable: Bool = Machine.has("xfs_io") && Machine.canMountImage(of: "ext4")

    /// Runs a test on one.
    package static func with<Result>(_ body: (PulledDisk) async throws -> Result) async throws -> Result {
        try await withTemporaryFolder { parent in
            let disk = PulledDisk(folder: parent.child("disk"), image: parent.child("image"))
            try disk.make()
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

    private func make() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Machine.makeImage(at: image, fileSystem: "ext4")
        try mount(image)
    }

    private func mount(_ image: URL) throws {
        guard try runTool("mount", ["-o", "loop", image.path, folder.path]) else {
            throw ToolFailure(what: "mount", reason: "could not mount \(image.path)")
        }
    }

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
        try mount(again)
    }
}
