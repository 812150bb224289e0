import Foundation
import LFSFiles
import LFSSystem

/// The id of this device for one app: made once, kept in a file of the state folder, and in no backup.
///
/// A device that is set up from another one's backup gets an id of its own.
public struct DeviceIdentity: Hashable, Sendable {
    /// UUID version 7 in lowercase.
    public let id: String
    /// SHA-256 of the id, 64 lowercase hex digits: for who shall tell devices apart and not know the id. It is the same
    /// in every process, as a `Hasher`'s would not be.
    public var hash: String { ContentHash.hex(ofText: id) }

    static let fileName = "device-id"

    /// Reads the id, and makes it if there is none.
    ///
    /// - Parameter folder: the state folder, such as ``StandardLocations/state``. It is made for this user alone.
    /// - Throws: ``SettingsError/Code/corrupted`` when the file has no id: it is not made anew, or the device would be
    ///   another one from then on; ``SettingsError/Code/permissionDenied`` and other errors of the system.
    public init(in folder: String) async throws {
        id = try await SettingsError.catching(nil) {
            try await BlockingPool.shared.run { _ in try Self.read(folder) }
        }
    }

    private static func read(_ path: String) throws -> String {
        let folder = try Directory.openOrMake(path)
        try OwnFolder.require(try folder.status(), folder.path)
        let file = AtomicFile(folder: folder, name: fileName)
        if let bytes = try file.read(longest: 64) { return try parse(bytes, folder) }
        try Array("\(FileID.make().text)\n".utf8).withUnsafeBytes {
            try folder.makeFile(fileName, under: ".\(fileName).\(FileID.make().text)", $0)
        }
        guard let bytes = try file.read(longest: 64) else {
            throw SettingsError(.corrupted, "\(folder.child(fileName)) is gone again. Does another program clear it?")
        }
        return try parse(bytes, folder)
    }

    private static func parse(_ bytes: Data, _ folder: Directory) throws -> String {
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let id = FileID(text: text) else {
            throw SettingsError(
                .corrupted,
                """
                \(folder.child(fileName)) has no id of a device. Put it back as it was, or remove it: then this is \
                another device from now on.
                """)
        }
        return id.text
    }
}
