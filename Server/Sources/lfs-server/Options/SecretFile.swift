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

    /// Reads the secret and creates it if necessary.
    ///
    /// - Throws: ``Failure`` if the file cannot be created or read, or if others may read it.
    static func open(_ path: String) throws -> SigningSecret {
        let files = FileManager.default
        if !files.fileExists(atPath: path) { try make(path) }
        let mode = (try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int) ?? 0o777
        guard mode & 0o077 == 0 else {
            throw Failure(description: "Other users may read the signing secret. Run: chmod 600 \(path)")
        }
        guard let bytes = files.contents(atPath: path), bytes.count == 32 else {
            throw Failure(
                description:
                    "\(path) is not a signing secret of 32 bytes. Restore it from a backup, or remove it. "
                    + "Without it, running uploads in parts start over.")
        }
        return try SigningSecret(bytes)
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
        guard isMade || FileManager.default.fileExists(atPath: path) else {
            throw Failure(description: "\(path) cannot be created. Check that this user may write to its folder.")
        }
    }
}
