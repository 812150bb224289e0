public import Foundation
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

    static func one(_ id: UUID, _ db: Database) throws -> Album? {
        let rows = try rows("WHERE id = ?", arguments: [id.text], db)
        // A cursor resets its statement when it is released, and the row loses its values.
        return try withExtendedLifetime(rows) { try rows.next().map(album) }
    }

    fileprivate static func rows(
        _ condition: String, arguments: StatementArguments, _ db: Database
    ) throws -> RowCursor {
        let sql = """
            SELECT id, remoteId, localId, ownerId, name, createdAt
            FROM album LEFT JOIN album_local ON albumId = id \(condition)
            """
        return try Row.fetchCursor(db, sql: sql, arguments: arguments)
    }

    fileprivate static func album(_ row: Row) throws -> Album {
        let checked = CheckedRow(row, of: "album")
        return Album(
            id: try checked.id(), remoteID: try checked.optional("remoteId"), localID: try checked.optional("localId"),
            ownerID: try checked.value("ownerId"), name: try checked.value("name"),
            createdAt: try checked.date("createdAt"))
    }
}

/// Albums of pictures, which only the database implementation has. A photo app needs them, and accounts can share them.
extension DatabaseStorageService {
    /// Stores an album. An album with the same id is replaced and keeps its pictures.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the owner has another album with the same local
    ///   id, or if any other album has the same remote id.
    public func saveAlbum(_ album: Album) async throws {
        try Self.requireStorable(
            "album \(album.id.text)", date: album.createdAt,
            texts: [album.remoteID, album.localID, album.ownerID, album.name])
        try await write("album \(album.id.text)") { db in try AlbumTable.put(album, db) }
    }

    /// Returns the albums of an owner by the time of their creation.
    public func loadAlbums(of ownerID: String) async throws -> [Album] {
        try await loadAllAlbums(of: ownerID).albums
    }

    /// Returns the albums of an owner as ``loadAlbums(of:)`` does, and the albums that another account has shared and
    /// that cannot be read.
    public func loadAllAlbums(of ownerID: String) async throws -> (albums: [Album], unreadable: [UnreadableAlbum]) {
        try await read("The albums") { db in
            var (albums, unreadable): ([Album], [UnreadableAlbum]) = ([], [])
            let rows = try AlbumTable.rows("WHERE ownerId = ? ORDER BY createdAt, id", arguments: [ownerID], db)
            while let row = try rows.next() {
                do {
                    albums.append(try AlbumTable.album(row))
                } catch let error as FileStorageError {
                    // A damaged row of another account must not hide the other rows.
                    guard let id = String.fromDatabaseValue(row["id"]), try SyncedTable.isForeign(id, in: "album", db)
                    else { throw error }
                    unreadable.append(UnreadableAlbum(id: id, name: String.fromDatabaseValue(row["name"]) ?? id))
                }
            }
            return (albums, unreadable)
        }
    }

    /// Deletes an album, but not its assets.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteAlbum(_ id: UUID) async throws {
        try await write("album \(id.text)") { db in
            try db.execute(sql: "DELETE FROM album WHERE id = ?", arguments: [id.text])
            guard db.changesCount > 0 else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    /// Returns the album with an id, including an album that another account shares, or nil if it does not exist.
    public func loadAlbum(_ id: UUID) async throws -> Album? {
        try await read("album \(id.text)") { db in try AlbumTable.one(id, db) }
    }
}
