package import Foundation

/// Runs a test on a file system of a few kilobytes, so that a full disk is a real one.
///
/// Returns nil, with the reason on standard output, where none can be mounted: that takes root on Linux.
package func withSmallFileSystem<Result>(
    kilobytes: Int, _ body: (URL) async throws -> Result
) async throws -> Result? {
    try await withTemporaryFolder { folder in
        guard try mount(folder, kilobytes: kilobytes) else {
            print("skipped: no small file system can be mounted here, which takes root on Linux")
            return nil
        }
        do {
            let result = try await body(folder)
            try runTool("umount", ["-l", folder.path])
            return result
        } catch {
            try runTool("umount", ["-l", folder.path])
            throw error
        }
    }
}

/// A folder on another file system than the temporary folder; nil where there is none.
package let otherFileSystem: URL? = {
    let folder = URL(fileURLWithPath: "/dev/shm", isDirectory: true)
    return FileManager.default.isWritableFile(atPath: folder.path) ? folder : nil
}()

private func mount(_ folder: URL, kilobytes: Int) throws -> Bool {
    #if os(Linux)
    return try runTool("mount", ["-t", "tmpfs", "-o", "size=\(kilobytes)k,mode=0700", "lfs-test", folder.path])
    #else
    return false
    #endif
}
