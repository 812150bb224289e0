public import Foundation
import GRDB
import LFSSync

/// Albums that several accounts see. The database only stores the members. The sync server enforces the permissions.
extension DatabaseStorageService {
    /// Returns the members of an album by name.
    public func loadMembers(ofAlbum id: UUID) async throws -> [AlbumMember] {
        try await read("album \(id.text)") { db in try AlbumMemberTable.all(of: id, db) }
    }

    /// Shares an album with an account, or changes the permissions of a member.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)``, ``FileStorageError/encodingFailed(name:reason:)``.
    public func saveMember(_ member: AlbumMember) async throws {
        guard !member.name.hasNull, !member.accountID.hasNull else {
            throw FileStorageError.encodingFailed(name: "member", reason: "one of its texts has the character U+0000")
        }
        try await write("album \(member.albumID.text)") { db in try AlbumMemberTable.put(member, db) }
    }

    /// Removes a member from an album: the owner ends the sharing, or the member leaves.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteMember(_ member: AlbumMember.ID, ofAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AlbumMemberTable.delete(member, from: id, db) else {
                throw FileStorageError.fileNotFound(name: member)
            }
        }
    }

    /// Leaves an album that another account has shared, including one that cannot be read.
    ///
    /// - Parameters:
    ///   - id: The album's id, which may be any text.
    ///   - account: The id of this account on the sync server.
    /// - Throws: ``FileStorageError/fileNotFound(name:)`` if no other account shares such an album with this one,
    ///   ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func leaveAlbum(_ id: String, account: String) async throws {
        try await write("album \(id)") { db in
            guard try SyncedTable.isForeign(id, in: "album", db),
                try AlbumMemberTable.delete(account: account, fromAlbum: id, db)
            else { throw FileStorageError.fileNotFound(name: id) }
        }
    }

    /// Returns true if another account has shared an album with this one.
    public func isShared(album id: UUID) async throws -> Bool {
        try await read("album \(id.text)") { db in try SyncedTable.isForeign(id.text, in: "album", db) }
    }
}
