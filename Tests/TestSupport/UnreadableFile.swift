package import Foundation

/// Runs a test while a file is unreadable, even for root. A write-only file of the kernel is mounted in its place. It
/// is a regular file of 4,096 bytes and cannot be moved. See ``canMakeFilesUnreadable``.
package func withUnreadableFile<Result>(at url: URL, _ body: () async throws -> Result) async throws -> Result {
    guard try runTool("mount", arguments: ["--bind", kernelFile, url.path]) else {
        throw ToolFailure(what: "mount", reason: "could not mount \(kernelFile)")
    }
    do {
        let result = try await body()
        try runTool("umount", arguments: ["-l", url.path])
        return result
    } catch {
        try runTool("umount", arguments: ["-l", url.path])
        throw error
    }
}

/// True if ``withUnreadableFile(at:_:)`` works on this machine.
package let canMakeFilesUnreadable = Machine.canMount && FileManager.default.fileExists(atPath: kernelFile)

private let kernelFile = "/sys/bus/platform/drivers_probe"
