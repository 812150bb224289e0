import Foundation
import LFSFiles
import LFSSystem

/// The id of this device for one app. It is created once, stored in a file of the state folder, and not backed up.
///
/// A device that is set up from the backup of another one gets a new id. On Apple platforms the folder is excluded from
/// backups.
public struct DeviceIdentity: Hashable, Sendable {
    /// A UUID of version 7 in lowercase.
    public let id: String
    /// The SHA-256 of the id as 64 lowercase hex digits, to distinguish devices without revealing the id. Unlike a
    /// `Hasher`'s result, it is the same in every process.
    public var hash: String { ContentHash.hex(ofText: id) }

    static let fileName = "device-id"

    /// Reads the id, or creates it if it does not exist.
    ///
    /// - Parameter folder: the state folder, such as ``StandardLocations/state``. It and its parents are created for
    ///   this user only.
    /// - Throws: ``SettingsError/Code/corrupted`` when the file contains no id,
    ///   ``SettingsError/Code/permissionDenied``, and other errors of the system. A file without an id is not replaced,
    ///   because the device would then change its identity.
    public init(in folder: String) async throws {
        try await self.init(in: folder, backupCall: BackupExclusion.systemCall)
    }

    /// - Parameter backupCall: excludes the folder from the backups of an Apple device. Nil where the system has no
    ///   backups.
    init(in folder: String, backupCall: BackupExclusion.Call?) async throws {
        id = try await SettingsError.catching(nil) {
            try await BlockingPool.shared.run { _ in try Self.read(folder, backupCall: backupCall) }
        }
    }

    private static func read(_ path: String, backupCall: BackupExclusion.Call?) throws -> String {
        let folder = try openOrMake(path)
        try OwnFolder.require(try folder.status(), path: folder.path)
        // Each time, because a restore or a move of the folder may have removed the mark.
        try excludeFromBackups(path, by: backupCall)
        let file = AtomicFile(folder: folder, name: fileName)
        if let bytes = try file.read(longest: 64) { return try parse(bytes, folder: folder) }
        try file.create(with: Data("\(FileID.make().text)\n".utf8))
        guard let bytes = try file.read(longest: 64) else {
            throw SettingsError(
                .corrupted,
                message: "\(folder.child(fileName)) was removed after it was created. Check which program removes it.")
        }
        return try parse(bytes, folder: folder)
    }

    /// Opens the folder, and creates it and its missing parents for this user only. A new device may lack them.
    private static func openOrMake(_ path: String) throws(SystemError) -> Directory {
        do throws(SystemError) {
            return try Directory.openOrMake(path)
        } catch {
            let parent = (path as NSString).deletingLastPathComponent
            guard error.isMissing, !parent.isEmpty, parent != path else { throw error }
            _ = try openOrMake(parent)
            return try Directory.openOrMake(path)
        }
    }

    /// Excludes the folder from the backups of an Apple device, so that a restored device gets its own id.
    private static func excludeFromBackups(_ path: String, by call: BackupExclusion.Call?) throws {
        do {
            try call.map(BackupExclusion.init)?.exclude(path)
        } catch {
            throw SettingsError(
                .system, message: "\(path) cannot be excluded from backups: \(error.localizedDescription)",
                cause: error)
        }
    }

    private static func parse(_ bytes: Data, folder: Directory) throws -> String {
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let id = FileID(text: text) else {
            throw SettingsError(
                .corrupted,
                message: """
                    \(folder.child(fileName)) does not contain the id of a device. Restore the file, or remove it \
                    to give this device a new id.
                    """)
        }
        return id.text
    }
}
