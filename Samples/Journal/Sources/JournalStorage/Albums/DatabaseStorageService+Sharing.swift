public import Foundation
import GRDB
import LFSSync

/// Albums that several accounts see. Who shares one with whom travels to the sync server, which does the rest.
extension DatabaseStorageService {
    /// Whom an album is shared with, by name.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``, ``FileStorageError/decodingFailed(name:reason:)``.
    public func loadMembers(ofAlbum id: UUID) async throws -> [AlbumMember] {
        try await read("album \(id.text)") { db in try AlbumMemberTable.all(of: id, db) }
    }

    /// Shares an album with somebody, or changes what somebody may do in it.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)``, ``FileStorageError/encodingFailed(name:reason:)``.
    public func saveMember(_ member: AlbumMember) async throws {
        guard !member.name.hasNull, !member.accountID.hasNull else {
            throw FileStorageError.encodingFailed(name: "member", reason: "a text of it has the character U+0000")
        }
        try await write("album \(member.albumID.text)") { db in try AlbumMemberTable.put(member, db) }
    }

    /// Shares an album with somebody no longer, or leaves it.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteMember(_ member: AlbumMember.ID, ofAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AlbumMemberTable.delete(member, from: id, db) else {
                throw FileStorageError.fileNotFound(name: member)
            }
        }
    }

    /// Leaves an album that another account has shared, also one that cannot be read.
    ///
    /// - Parameters:
    ///   - id: the album's, any text.
    ///   - account: what the sync server calls this account.
    /// - Throws: ``FileStorageError/fileNotFound(name:)`` when no other account shares such an album with this one,
    ///   ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func leaveAlbum(_ id: String, account: String) async throws {
        try await write("album \(id)") { db in
            guard try SyncedTable.isForeign(id, in: "album", db),
                try AlbumMemberTable.delete(account: account, fromAlbum: id, db)
            else { throw FileStorageError.fileNotFound(name: id) }
        }
    }

    /// Whether another account has shared an album with this one.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    public func isShared(album id: UUID) async throws -> Bool {
        try await read("album \(id.text)") { db in try SyncedTable.isForeign(id.text, in: "album", db) }
    }
}
