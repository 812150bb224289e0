import Foundation
import GRDB
import LFSSync

/// The albums, and what the photo library of this device calls them.
enum AlbumTable {
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when another album has one of its ids.
    static func put(_ album: Album, _ db: Database) throws {
        // Two devices may have given two albums the same: what one has already it keeps.
        let stored = try one(album.id, db)
        if stored?.remoteID != album.remoteID {
            try Taken.refuse(
                "SELECT 1 FROM album WHERE remoteId = ? AND id <> ?", [album.remoteID, album.id.text],
                "album \(album.id.text)", "another album has its remote id", db)
        }
        if stored?.ownerID != album.ownerID || stored?.localID != album.localID {
            try Taken.refuse(
                """
                SELECT 1 FROM album_local JOIN album ON album.id = albumId
                WHERE localId = ? AND ownerId = ? AND albumId <> ?
                """, [album.localID, album.ownerID, album.id.text], "album \(album.id.text)",
                "another album of its owner has its local id", db)
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

    /// Returns the albums of an owner, and the shared ones of other accounts that cannot be read. A row of another
    /// account must not hide the rest.
    ///
    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)`` for a damaged row of this account.
    static func all(of owner: String, _ db: Database) throws -> (albums: [Album], unreadable: [UnreadableAlbum]) {
        var (albums, unreadable): ([Album], [UnreadableAlbum]) = ([], [])
        let rows = try rows("WHERE ownerId = ? ORDER BY createdAt, id", [owner], db)
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
        try rows("WHERE id = ?", [id.text], db).next().map(album)
    }

    private static func rows(
        _ condition: String, _ arguments: StatementArguments, _ db: Database
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

    /// - Returns: whether there was one.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM album WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }
}

/// What unique indexes would refuse, were two devices never to write without knowing of each other.
enum Taken {
    static func refuse(
        _ sql: String, _ arguments: StatementArguments, _ name: String, _ reason: String, _ db: Database
    ) throws {
        guard try Row.fetchOne(db, sql: sql, arguments: arguments) == nil else {
            throw FileStorageError.fileWriteFailed(name: name, reason: reason)
        }
    }
}
