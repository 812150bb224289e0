package import Foundation

/// Runs a test on a file system of a few kilobytes, so that the disk really fills up. See ``Machine/canMount``.
package func withSmallFileSystem<Result>(
    kilobytes: Int, _ body: (URL) async throws -> Result
) async throws -> Result {
    try await withTemporaryFolder { folder in
        try Machine.mount(folder, kilobytes: kilobytes)
        do {
            let result = try await body(folder)
            try runTool("umount", arguments: ["-l", folder.path])
            return result
        } catch {
            try runTool("umount", arguments: ["-l", folder.path])
            throw error
        }
    }
}

/// A folder on another file system than the temporary folder, or nil if this machine has no such folder.
package let otherFileSystem: URL? = {
    let folder = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    return FileManager.default.isWritableFile(atPath: folder.path) ? folder : nil
}()
