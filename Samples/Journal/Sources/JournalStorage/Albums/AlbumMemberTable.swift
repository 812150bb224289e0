import Foundation
import GRDB

/// A table of the members of albums.
enum AlbumMemberTable {
    static func put(_ member: AlbumMember, _ db: Database) throws {
        let sql = """
            INSERT INTO album_member (id, albumId, accountID, role, name) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET role = excluded.role, name = excluded.name
            """
        try db.execute(
            sql: sql,
            arguments: [member.id, member.albumID.text, member.accountID, member.role.rawValue, member.name])
    }

    static func all(of album: UUID, _ db: Database) throws -> [AlbumMember] {
        // The account's own name, if the server sends the rows of people.
        let sql = """
            SELECT m.id, m.accountID, m.role, coalesce(u.name, m.name) AS name
            FROM album_member m LEFT JOIN user u ON u.id = m.accountID
            WHERE m.albumId = ? ORDER BY 4, m.id
            """
        return try Row.fetchAll(db, sql: sql, arguments: [album.text]).map { row in
            let checked = CheckedRow(row, of: "album_member")
            return AlbumMember(
                albumID: album, accountID: try checked.value("accountID"),
                role: AlbumMember.Role(rawValue: try checked.value("role")) ?? .viewer,
                name: try checked.value("name"))
        }
    }

    /// Removes an account from an album. The ids of the album and of the member's row may be any texts.
    ///
    /// - Returns: true if the account was a member.
    static func delete(account: String, fromAlbum album: String, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM album_member WHERE albumId = ? AND accountID = ?", arguments: [album, account])
        return db.changesCount > 0
    }

    /// - Returns: true if the row existed.
    static func delete(_ id: String, from album: UUID, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM album_member WHERE id = ? AND albumId = ?", arguments: [id, album.text])
        return db.changesCount > 0
    }
}
