import Foundation
import GRDB
import LFSSync

/// A table of the albums, with their local ids in the photo library of this device.
enum AlbumTable {
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if another album has one of its ids.
    static func put(_ album: Album, _ db: Database) throws {
        // Two devices may have given the same id to two albums: an album keeps an id that it already has.
        let stored = try one(album.id, db)
        if stored?.remoteID != album.remoteID {
            try refuse(
                album, if: "SELECT 1 FROM album WHERE remoteId = ? AND id <> ?",
                arguments: [album.remoteID, album.id.text], reason: "another album has its remote id", db)
        }
        if stored?.ownerID != album.ownerID || stored?.localID != album.localID {
            try refuse(
                album,
                if: """
                    SELECT 1 FROM album_local JOIN album ON album.id = albumId
                    WHERE localId = ? AND ownerId = ? AND albumId <> ?
                    """, arguments: [album.localID, album.ownerID, album.id.text],
                reason: "another album of its owner has its local id", db)
        }
        let sql = """
            INSERT INTO album (id, remoteId, ownerId, name, createdAt) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, ownerId = excluded.ownerId,
                name = excluded.name, createdAt = excluded.createdAt
            """
        try db.execute(
            sql: sql,
            arguments: [
                album.id.text, album.remoteID, album.ownerID, album.name, album.createdAt.millisecondsSince1970,
            ])
        try db.execute(sql: "DELETE FROM album_local WHERE albumId = ?", arguments: [album.id.text])
        guard let local = album.localID else { return }
        try db.execute(
            sql: "INSERT INTO album_local (albumId, localId) VALUES (?, ?)", arguments: [album.id.text, local])
    }

    /// Checks what a unique index would check. An index cannot be used, since two devices may write the same value
    /// before they know of each other's row.
    private static func refuse(
        _ album: Album, if sql: String, arguments: StatementArguments, reason: FileStorageError.Reason, _ db: Database
    ) throws {
        guard try Row.fetchOne(db, sql: sql, arguments: arguments) == nil else {
            throw FileStorageError.fileWriteFailed(name: "album \(album.id.text)", reason: reason)
        }
    }

    /// Returns the albums of an owner, and the shared albums of other accounts that cannot be read. A damaged row of
    /// another account must not hide the other rows.
    ///
    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)`` if a row of this account is damaged.
    static func all(of owner: String, _ db: Database) throws -> (albums: [Album], unreadable: [UnreadableAlbum]) {
        var (albums, unreadable): ([Album], [UnreadableAlbum]) = ([], [])
        let rows = try rows("WHERE ownerId = ? ORDER BY createdAt, id", arguments: [owner], db)
        while let row = try rows.next() {
            do {
                albums.append(try album(row))
            } catch let error as FileStorageError {
                guard let id = String.fromDatabaseValue(row["id"]), try SyncedTable.isForeign(id, in: "album", db)
                else { throw error }
                unreadable.append(UnreadableAlbum(id: id, name: String.fromDatabaseValue(row["name"]) ?? id))
            }
        }
        return (albums, unreadable)
    }

    static func one(_ id: UUID, _ db: Database) throws -> Album? {
        let rows = try rows("WHERE id = ?", arguments: [id.text], db)
        // A cursor resets its statement when it is released, and the row loses its values.
        return try withExtendedLifetime(rows) { try rows.next().map(album) }
    }

    private static func rows(
        _ condition: String, arguments: StatementArguments, _ db: Database
    ) throws -> RowCursor {
        let sql = """
            SELECT id, remoteId, localId, ownerId, name, createdAt
            FROM album LEFT JOIN album_local ON albumId = id \(condition)
            """
        return try Row.fetchCursor(db, sql: sql, arguments: arguments)
    }

    private static func album(_ row: Row) throws -> Album {
        let checked = CheckedRow(row, of: "album")
        return Album(
            id: try checked.id(), remoteID: try checked.optional("remoteId"), localID: try checked.optional("localId"),
            ownerID: try checked.value("ownerId"), name: try checked.value("name"),
            createdAt: try checked.date("createdAt"))
    }

    /// - Returns: true if the album existed.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM album WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }
}
