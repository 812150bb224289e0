import Foundation
import GRDB

/// The albums, and which assets they show in which order.
enum AlbumTable {
    static func put(_ album: Album, _ db: Database) throws {
        let sql = """
            INSERT INTO album (id, remoteId, localId, ownerId, name, createdAt) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, localId = excluded.localId,
                ownerId = excluded.ownerId, name = excluded.name, createdAt = excluded.createdAt
            """
        try db.execute(
            sql: sql,
            arguments: [
                album.id.text, album.remoteID, album.localID, album.ownerID, album.name,
                album.createdAt.millisecondsSince1970,
            ])
    }

    static func all(of owner: String, _ db: Database) throws -> [Album] {
        let sql = """
            SELECT id, remoteId, localId, ownerId, name, createdAt FROM album WHERE ownerId = ? ORDER BY createdAt, id
            """
        let rows = try Row.fetchCursor(db, sql: sql, arguments: [owner])
        var albums: [Album] = []
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "album")
            albums.append(
                Album(
                    id: try checked.id(), remoteID: try checked.optional("remoteId"),
                    localID: try checked.optional("localId"), ownerID: try checked.value("ownerId"),
                    name: try checked.value("name"), createdAt: try checked.date("createdAt")))
        }
        return albums
    }

    /// - Returns: whether there was one.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM album WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }

    /// Shows exactly these assets.
    static func arrange(_ assets: [UUID], in album: UUID, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM album_asset WHERE albumId = ?", arguments: [album.text])
        let insert = try db.cachedStatement(
            sql: "INSERT INTO album_asset (albumId, position, assetId) VALUES (?, ?, ?)")
        for (position, asset) in assets.enumerated() {
            try insert.execute(arguments: [album.text, position, asset.text])
        }
    }

    static func assets(in album: UUID, _ db: Database) throws -> [Asset] {
        try AssetTable.fetch(
            "JOIN album_asset ON album_asset.assetId = asset.id WHERE album_asset.albumId = ? "
                + "ORDER BY album_asset.position", [album.text], db)
    }
}
