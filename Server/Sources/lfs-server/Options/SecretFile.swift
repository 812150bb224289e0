import Foundation
import LFSSigning

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Where the server keeps what it signs with: 32 random bytes beside the file of tokens, made at the first start.
enum SecretFile {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// - Throws: ``Failure`` when it cannot be made or read, or others may read it.
    static func open(_ path: String) throws -> SigningSecret {
        let files = FileManager.default
        if !files.fileExists(atPath: path) { try make(path) }
        let mode = (try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int) ?? 0o777
        guard mode & 0o077 == 0 else {
            throw Failure(description: "Others may read the server's secret: chmod 600 \(path)")
        }
        guard let bytes = files.contents(atPath: path), bytes.count == 32 else {
            throw Failure(
                description:
                    "\(path) is not the secret that this server has made: 32 bytes. Put it back from a backup, "
                    + "or remove it; uploads in parts that are under way begin anew then.")
        }
        return try SigningSecret(bytes)
    }

    /// In a file of another name first: nobody ever reads half of it, and of two servers that start one wins.
    private static func make(_ path: String) throws {
        let made = "\(path).\(UUID().uuidString).new"
        guard FileManager.default.createFile(atPath: made, contents: nil, attributes: [.posixPermissions: 0o600]),
            let file = FileHandle(forWritingAtPath: made)
        else {
            throw Failure(description: "\(path) cannot be made: is its folder there, and may this user write to it?")
        }
        defer { unlink(made) }
        try file.write(contentsOf: SigningSecret.random())
        try file.synchronize()
        try file.close()
        // Another server may have made it meanwhile; then that one counts.
        let isMade = link(made, path) == 0
        guard isMade || FileManager.default.fileExists(atPath: path) else {
            throw Failure(description: "\(path) cannot be made: may this user write to its folder?")
        }
    }
}
