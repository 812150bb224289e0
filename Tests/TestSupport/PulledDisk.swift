package import Foundation

/// A disk with its own file system that can be removed while files on it are open, and put back.
///
/// It is ext4 on a loop device. Shutting it down makes every access fail with EIO, as when a cable is pulled. Data that
/// was synced before is there when the disk is mounted again.
package struct PulledDisk: Sendable {
    package let folder: URL
    private let image: URL

    /// True if this machine can create and mount such a disk.
    package static let isAvailable: Bool = Machine.has("xfs_io") && Machine.canMountImage(of: "ext4")

    /// Runs a test with a new disk.
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
        guard try runTool("mount", arguments: ["-o", "loop", image.path, folder.path]) else {
            throw ToolFailure(what: "mount", reason: "could not mount \(image.path)")
        }
    }

    private func unmount() throws { try runTool("umount", arguments: ["-l", folder.path]) }

    /// Shuts the file system down.
    ///
    /// - Parameter isUnmounted: true to unmount the dead file system, as desktops do.
    package func pull(isUnmounted: Bool) throws {
        guard try runTool("xfs_io", arguments: ["-x", "-c", "shutdown", folder.path]) else {
            throw ToolFailure(what: "xfs_io", reason: "could not shut \(folder.path) down")
        }
        if isUnmounted { try unmount() }
    }

    package func putBack(wasUnmounted: Bool) throws {
        if !wasUnmounted { try unmount() }
        // The system keeps the dead file system while a file on it is open. The disk that is put back is a copy of the
        // image.
        let again = image.appendingPathExtension("again")
        try FileManager.default.copyItem(at: image, to: again)
        try mount(again)
    }
}
