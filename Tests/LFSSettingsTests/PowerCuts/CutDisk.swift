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

    /// Whether this machine can make and mount one of each kind.
    static let isAvailable: Bool =
        Machine.has("xfs_io") && Kind.allCases.allSatisfy { Machine.canMountImage(of: $0.rawValue) }

    /// Runs a body with one.
    static func with<Result>(_ kind: Kind, _ body: (CutDisk, URL) async throws -> Result) async throws -> Result {
        try await withTemporaryFolder { parent in
            let disk = CutDisk(mount: parent.child("disk"), kind: kind, image: parent.child("image"))
            try disk.make()
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

    private func make() throws {
        try FileManager.default.createDirectory(at: mount, withIntermediateDirectories: false)
        try Machine.makeImage(at: image, fileSystem: kind.rawValue)
        try require("mount", ["-o", "loop", image.path, mount.path])
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
