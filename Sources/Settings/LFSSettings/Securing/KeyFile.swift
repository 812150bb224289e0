import Crypto
import Foundation
import LFSFiles
import LFSSystem

/// A file with a root key. Its methods block the thread.
struct KeyFile: Sendable {
    let path: String

    private var folder: String { (path as NSString).deletingLastPathComponent }
    private var name: String { (path as NSString).lastPathComponent }

    /// - Returns: nil if the file does not exist.
    /// - Throws: ``SettingsError/Code/permissionDenied`` if others could read or replace the file, and
    ///   ``SettingsError/Code/keyMismatch`` if it does not contain a key.
    func read() throws -> SymmetricKey? {
        try Path.requireAbsolute(path, what: "The path of a key file")
        guard let folder = try Directory.find(folder) else { return nil }
        try OwnFolder.require(try folder.status(), path: folder.path)
        return try Self.read(name, in: folder, owners: [FileStatus.currentUser], mayNotHave: 0o077)
    }

    /// Creates the file unless it exists by then.
    func make(_ key: SymmetricKey) throws {
        try Path.requireAbsolute(path, what: "The path of a key file")
        let folder = try Directory.openOrMake(folder)
        try OwnFolder.require(try folder.status(), path: folder.path)
        try AtomicFile(folder: folder, name: name).create(with: key.withUnsafeBytes { Data($0) })
        // The folder itself may be new, or its creator may have ended before the sync.
        try Directory.open((folder.path as NSString).deletingLastPathComponent).synchronize()
    }

    /// - Parameters:
    ///   - owners: the users who may own the file.
    ///   - rights: the permission bits that must not be set.
    static func read(
        _ name: String, in folder: Directory, owners: Set<UInt32>, mayNotHave rights: UInt32
    ) throws -> SymmetricKey? {
        guard let file = try folder.findFile(name) else { return nil }
        let status = try file.status()
        guard status.isRegularFile, owners.contains(status.owner), status.permissions & rights == 0 else {
            throw SettingsError(
                .permissionDenied,
                message: """
                    \(file.path) is not a file that only this user can read, so it is not used as a key. Run: chmod \
                    600 '\(file.path)', and check its owner. If others have read the file, its key is no longer secret.
                    """)
        }
        let bytes = try file.prefix(longest + 1)
        guard bytes.count <= longest, let key = key(in: bytes) else {
            throw SettingsError(
                .keyMismatch,
                message: """
                    \(file.path) does not contain a key, which is 32 bytes, 64 hex digits, or 32 bytes in Base64. Put \
                    back the original file.
                    """)
        }
        return key
    }

    private static let longest = 256

    private static func key(in bytes: [UInt8]) -> SymmetricKey? {
        if bytes.count == 32 { return SymmetricKey(data: bytes) }
        guard let text = String(validating: bytes, as: UTF8.self)?.trimmingCharacters(in: .whitespacesAndNewlines)
        else { return nil }
        let digits = text.utf8.compactMap { digit in UInt8(String(UnicodeScalar(digit)), radix: 16) }
        if text.utf8.count == 64, digits.count == 64 {
            return SymmetricKey(data: stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
        }
        guard let data = Data(base64Encoded: text), data.count == 32 else { return nil }
        return SymmetricKey(data: data)
    }
}

/// A systemd credential of a service. Its methods block the thread.
struct ServiceCredential: Sendable {
    let name: String
    /// The path in `$CREDENTIALS_DIRECTORY`, or nil if the variable is not set.
    let folder: String?

    /// - Throws: ``SettingsError/Code/keyMissing`` outside of a service with this credential.
    func read() throws -> SymmetricKey? {
        guard !name.isEmpty, !name.hasPrefix("."), !name.utf8.contains(where: { $0 == 0x2F || $0 == 0 }) else {
            throw SettingsError(
                .invalidName, message: "The name of a credential must not contain a slash or begin with a period.")
        }
        guard let path = folder, path.hasPrefix("/") else { throw missing("$CREDENTIALS_DIRECTORY is not set") }
        guard let folder = try Directory.find(path) else { throw missing("\(path) does not exist") }
        // systemd gives the folder to the service's user, or keeps root as its owner and lets that user read it.
        let owners: Set = [FileStatus.currentUser, 0]
        let status = try folder.status()
        guard owners.contains(status.owner), status.permissions & 0o022 == 0 else {
            throw SettingsError(
                .permissionDenied, message: "Others can change the contents of \(path), so no key is read from it.")
        }
        // If root owns the file, its group bits are the mask of the access control list that lets the service's user
        // read it: acl(5).
        let isRoots = try folder.status(of: name)?.owner == 0
        guard let key = try KeyFile.read(name, in: folder, owners: owners, mayNotHave: isRoots ? 0o037 : 0o077) else {
            throw missing("\(path) has no such file")
        }
        return key
    }

    private func missing(_ reason: String) -> SettingsError {
        SettingsError(
            .keyMissing,
            message: """
                The credential with the root key is missing: \(reason). Start the program as a service with \
                LoadCredentialEncrypted=\(name):FILE. Create FILE with systemd-creds encrypt.
                """)
    }
}
