package import Foundation

/// Runs a test while a file cannot be read, also by root: one of the kernel's own that may only be written stands in
/// its place. It is a regular file of 4,096 bytes. It cannot be moved either.
///
/// Returns nil, with the reason on standard output, where that cannot be had: it takes root on Linux.
package func withUnreadableFile<Result>(at url: URL, _ body: () async throws -> Result) async throws -> Result? {
    let kernelFile = "/sys/bus/platform/drivers_probe"
    guard FileManager.default.fileExists(atPath: kernelFile),
        try runTool("mount", ["--bind", kernelFile, url.path])
    else {
        print("skipped: no file can be made unreadable here, which takes root on Linux")
        return nil
    }
    do {
        let result = try await body()
        try runTool("umount", ["-l", url.path])
        return result
    } catch {
        try runTool("umount", ["-l", url.path])
        throw error
    }
}
