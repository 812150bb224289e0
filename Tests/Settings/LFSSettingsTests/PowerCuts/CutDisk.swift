import Foundation
import TestSupport

/// A disk with its own file system and a simulated power switch. After the cut it has what was synced and loses the
/// rest. It does not simulate a disk that lies about its cache.
struct CutDisk: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case ext4, xfs
    }

    let mount: URL
    private let kind: Kind
    private let image: URL

    /// Indicates that this machine can make and mount a disk of each kind.
    static let isAvailable: Bool =
        Machine.has("xfs_io") && Kind.allCases.allSatisfy { Machine.canMountImage(of: $0.rawValue) }

    /// Runs a body with a new disk.
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
        try require("mount", arguments: ["-o", "loop", image.path, mount.path])
    }

    func cutPower() throws { try require("xfs_io", arguments: ["-x", "-c", "shutdown", mount.path]) }

    /// Mounts the disk again. No file on it may be open.
    func restart() throws {
        try require("umount", arguments: [mount.path])
        // Another process's mount namespace may still hold the dead file system, which the kernel would then mount
        // again. A copy of the image is another disk.
        let again = image.appendingPathExtension("again")
        try require("cp", arguments: ["--sparse=always", image.path, again.path])
        // XFS refuses a second file system with the same id unless an option allows it.
        let options = kind == .xfs ? "loop,nouuid" : "loop"
        try require("mount", arguments: ["-o", options, again.path, mount.path])
    }

    /// Unmounts the disk once this process has closed its files on it.
    private func leave() throws { try require("umount", arguments: ["-l", mount.path]) }

    private func require(_ tool: String, arguments: [String]) throws {
        guard try runTool(tool, arguments: arguments) else {
            throw Failure(command: ([tool] + arguments).joined(separator: " "))
        }
    }

    private struct Failure: Error {
        let command: String
    }
}
