public import Foundation
import GRDB
import LFSSync

/// Albums that several accounts see. The database only stores the members. The sync server enforces the permissions.
extension DatabaseStorageService {
    /// Returns the members of an album by name.
    public func loadMembers(ofAlbum id: UUID) async throws -> [AlbumMember] {
        // The account's own name, if the server sends the rows of people.
        let sql = """
            SELECT m.id, m.accountID, m.role, coalesce(u.name, m.name) AS name
            FROM album_member m LEFT JOIN user u ON u.id = m.accountID
            WHERE m.albumId = ? ORDER BY 4, m.id
            """
        return try await read("album \(id.text)") { db in
            try Row.fetchAll(db, sql: sql, arguments: [id.text]).map { row in
                let checked = CheckedRow(row, of: "album_member")
                return AlbumMember(
                    albumID: id, accountID: try checked.value("accountID"),
                    role: AlbumMember.Role(rawValue: try checked.value("role")) ?? .viewer,
                    name: try checked.value("name"))
            }
        }
    }

    /// Shares an album with an account, or changes the permissions of a member.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)``, ``FileStorageError/encodingFailed(name:reason:)``.
    public func saveMember(_ member: AlbumMember) async throws {
        guard !member.name.hasNull, !member.accountID.hasNull else {
            throw FileStorageError.encodingFailed(name: "member", reason: "one of its texts has the character U+0000")
        }
        let sql = """
            INSERT INTO album_member (id, albumId, accountID, role, name) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET role = excluded.role, name = excluded.name
            """
        let album = member.albumID.text
        try await write("album \(album)") { db in
            try db.execute(
                sql: sql, arguments: [member.id, album, member.accountID, member.role.rawValue, member.name])
        }
    }

    /// Removes a member from an album: the owner ends the sharing, or the member leaves.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteMember(_ member: AlbumMember.ID, ofAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            try db.execute(sql: "DELETE FROM album_member WHERE id = ? AND albumId = ?", arguments: [member, id.text])
            guard db.changesCount > 0 else { throw FileStorageError.fileNotFound(name: member) }
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
            guard try SyncedTable.isForeign(id, in: "album", db) else { throw FileStorageError.fileNotFound(name: id) }
            try db.execute(
                sql: "DELETE FROM album_member WHERE albumId = ? AND accountID = ?", arguments: [id, account])
            guard db.changesCount > 0 else { throw FileStorageError.fileNotFound(name: id) }
        }
    }

    /// Returns true if another account has shared an album with this one.
    public func isShared(album id: UUID) async throws -> Bool {
        try await read("album \(id.text)") { db in try SyncedTable.isForeign(id.text, in: "album", db) }
    }
}
