import Foundation
import GRDB
import LFS

/// The assets, each with the file that has its bytes.
enum AssetTable {
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when another asset has one of its ids, or the
    ///   owner's has its checksum.
    static func put(_ asset: Asset, _ db: Database) throws {
        let (id, name) = (asset.id.text, "asset \(asset.id.text)")
        // Two devices may have given two assets the same: what one has already it keeps.
        let stored = try fetch("WHERE asset.id = ?", [id], db).first
        let isOfOther = stored?.ownerID != asset.ownerID
        if stored?.remoteID != asset.remoteID {
            try Taken.refuse(
                "SELECT 1 FROM asset WHERE remoteId = ? AND id <> ?", [asset.remoteID, id], name,
                "another asset has its remote id", db)
        }
        if isOfOther || stored?.localID != asset.localID {
            try Taken.refuse(
                """
                SELECT 1 FROM asset_local JOIN asset ON asset.id = assetId
                WHERE localId = ? AND ownerId = ? AND assetId <> ?
                """, [asset.localID, asset.ownerID, id], name, "another asset of its owner has its local id", db)
        }
        if isOfOther || stored?.checksum != asset.checksum {
            try Taken.refuse(
                "SELECT 1 FROM asset WHERE ownerId = ? AND checksum = ? AND id <> ?",
                [asset.ownerID, asset.checksum, id], name, "another asset of its owner has its checksum", db)
        }
        let sql = """
            INSERT INTO asset (id, remoteId, ownerId, checksum, createdAt, fileId) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, ownerId = excluded.ownerId,
                checksum = excluded.checksum, createdAt = excluded.createdAt, fileId = excluded.fileId
            """
        try db.execute(
            sql: sql,
            arguments: [
                id, asset.remoteID, asset.ownerID, asset.checksum, asset.createdAt.millisecondsSince1970, asset.fileID,
            ])
        try db.execute(sql: "DELETE FROM asset_local WHERE assetId = ?", arguments: [id])
        guard let local = asset.localID else { return }
        try db.execute(sql: "INSERT INTO asset_local (assetId, localId) VALUES (?, ?)", arguments: [id, local])
    }

    static func all(of owner: String, _ db: Database) throws -> [Asset] {
        try fetch("WHERE asset.ownerId = ? ORDER BY asset.createdAt, asset.id", [owner], db)
    }

    static func one(remoteID: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset.remoteId = ? ORDER BY asset.createdAt, asset.id", [remoteID], db).first
    }

    static func one(localID: String, owner: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset_local.localId = ? AND asset.ownerId = ?", [localID, owner], db).first
    }

    static func one(checksum: String, owner: String, _ db: Database) throws -> Asset? {
        // Two devices may have made one each: on both of them the first counts.
        try fetch(
            "WHERE asset.ownerId = ? AND asset.checksum = ? ORDER BY asset.createdAt, asset.id", [owner, checksum], db
        ).first
    }

    /// Also from albums.
    ///
    /// - Returns: whether there was one.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM album_asset WHERE assetId = ?", arguments: [id.text])
        try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }

    /// - Parameter condition: joins, conditions and the order, as they follow the name of the table.
    static func fetch(_ condition: String, _ arguments: StatementArguments, _ db: Database) throws -> [Asset] {
        let sql = """
            SELECT asset.id, asset.remoteId, asset_local.localId, asset.ownerId, asset.checksum, asset.createdAt,
                asset.fileId
            FROM asset LEFT JOIN asset_local ON asset_local.assetId = asset.id \(condition)
            """
        let rows = try Row.fetchCursor(db, sql: sql, arguments: arguments)
        var assets: [Asset] = []
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "asset")
            assets.append(
                Asset(
                    id: try checked.id(), remoteID: try checked.optional("remoteId"),
                    localID: try checked.optional("localId"), ownerID: try checked.value("ownerId"),
                    checksum: try checked.value("checksum"), createdAt: try checked.date("createdAt"),
                    fileID: try checked.value("fileId")))
        }
        return assets
    }
}
