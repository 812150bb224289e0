import Foundation
import TestSupport

/// A disk with a file system of its own, with a switch for its power: what was synced is there after the cut, the rest
/// is lost. It does not show a disk that lies about its cache.
struct CutDisk: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case ext4, xfs
    }

    let mount: URL
    private let kind: Kind
    private let image: URL

    /// Runs a body with one. Returns nil, with the reason on standard output, where none can be mounted: that takes
    /// root on Linux.
    static func with<Result>(_ kind: Kind, _ body: (CutDisk, URL) async throws -> Result) async throws -> Result? {
        try await withTemporaryFolder { parent in
            let disk = CutDisk(mount: parent.child("disk"), kind: kind, image: parent.child("image"))
            guard try disk.make() else {
                print("skipped: no \(kind) can be mounted here, which takes root on Linux")
                return nil
            }
            do {
                let result = try await body(disk, parent)
                try disk.leave()
                return result
            } catch {
                try disk.leave()
                throw error
            }
        }
    }

    private func make() throws -> Bool {
        #if os(Linux)
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: false)
        try Data().write(to: image)
        let file = try FileHandle(forWritingTo: image)
        // XFS takes no less. It is sparse.
        try file.truncate(atOffset: kind == .xfs ? 300 << 20 : 32 << 20)
        try file.close()
        guard try runTool("mkfs.\(kind)", ["-q", image.path]) else { return false }
        return try runTool("mount", ["-o", "loop", image.path, mount.path])
        #else
        return false
        #endif
    }

    func cutPower() throws { try require("xfs_io", ["-x", "-c", "shutdown", mount.path]) }

    /// Once no file on it is open any more.
    func restart() throws {
        try require("umount", [mount.path])
        // Whoever has made a mount namespace meanwhile has the dead file system in it still, and the kernel would give
        // that again. A copy of its bytes is another disk.
        let again = image.appendingPathExtension("again")
        try require("cp", ["--sparse=always", image.path, again.path])
        // XFS takes no second one with the same id, unless it is told to.
        let options = kind == .xfs ? "loop,nouuid" : "loop"
        try require("mount", ["-o", options, again.path, mount.path])
    }

    /// As soon as what was open on it in this process is closed.
    private func leave() throws { try require("umount", ["-l", mount.path]) }

    private func require(_ tool: String, _ arguments: [String]) throws {
        guard try runTool(tool, arguments) else { throw Failure(command: ([tool] + arguments).joined(separator: " ")) }
    }

    private struct Failure: Error {
        let command: String
    }
}
