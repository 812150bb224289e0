import Foundation
import LFSSigningServer

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file of the signing secret: 32 random bytes next to the token file, created at the first start.
enum SecretFile {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads the secrets and creates the first one if necessary.
    ///
    /// - Parameter paths: the paths of the files. The first secret signs, and all are accepted.
    /// - Throws: ``Failure`` if a file cannot be created or read, or if others may read it.
    static func open(_ paths: [String]) throws -> SigningSecret {
        if let first = paths.first, !FileManager.default.fileExists(atPath: first) { try make(first) }
        let contents = try paths.map(read)
        try require(contents, at: paths)
        return try SigningSecret(contents[0], accepting: Array(contents.dropFirst()))
    }

    private static func read(_ path: String) throws -> Data {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw Failure(description: "The signing secret \(path) cannot be read. Check its path and its owner.")
        }
        return bytes
    }

    /// Checks the contents of the files, and that only their owner may read them.
    ///
    /// - Throws: ``Failure``.
    static func require(_ contents: [Data], at paths: [String]) throws {
        for (bytes, path) in zip(contents, paths) {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0o777
            guard mode & 0o077 == 0 else {
                throw Failure(description: "Other users may read the signing secret. Run: chmod 600 \(path)")
            }
            guard bytes.count == 32 else {
                throw Failure(
                    description: "\(path) is not a signing secret of 32 bytes. Restore it from a backup, or remove it. "
                        + "Without it, running uploads in parts start over.")
            }
        }
    }

    /// Creates the secret in a temporary file and links it. A reader never sees a partial file, and if two servers
    /// start concurrently, one of them wins.
    private static func make(_ path: String) throws {
        let made = "\(path).\(UUID().uuidString).new"
        guard FileManager.default.createFile(atPath: made, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: made)
        else {
            throw Failure(description: "\(path) cannot be created. Check that its folder exists and is writable.")
        }
        defer { unlink(made) }
        try file.write(contentsOf: SigningSecret.random())
        try file.synchronize()
        try file.close()
        // If another server has created the file in the meantime, that file is used.
        let isMade = link(made, path) == 0
        if isMade { syncFolder(of: path) }
        guard isMade || FileManager.default.fileExists(atPath: path) else {
            throw Failure(description: "\(path) cannot be created. Check that this user may write to its folder.")
        }
    }
}

/// Makes the new name of a file durable. Some file systems cannot do that.
private func syncFolder(of path: String) {
    let folder = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { return }
    fsync(folder)
    close(folder)
}
