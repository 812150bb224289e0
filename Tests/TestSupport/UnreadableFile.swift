package import Foundation

/// Runs a test while a file cannot be read, also by root: one of the kernel's own that may only be written stands in
/// its place. It is a regular file of 4,096 bytes. It cannot be moved either. See ``canMakeFilesUnreadable``.
package func withUnreadableFile<Result>(at url: URL, _ body: () async throws -> Result) async throws -> Result {
    guard try runTool("mount", ["--bind", kernelFile, url.path]) else {
        throw ToolFailure(what: "mount", reason: "could not mount \(kernelFile)")
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

/// Whether ``withUnreadableFile(at:_:)`` can be used on this machine.
package let canMakeFilesUnreadable = Machine.canMount && FileManager.default.fileExists(atPath: kernelFile)

private let kernelFile = "/sys/bus/platform/drivers_probe"
