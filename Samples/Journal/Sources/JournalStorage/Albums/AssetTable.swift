import Foundation
import GRDB
import LFS

/// The assets, each with the file that has its bytes.
enum AssetTable {
    static func put(_ asset: Asset, _ db: Database) throws {
        let sql = """
            INSERT INTO asset (id, remoteId, localId, ownerId, checksum, createdAt, fileId) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, localId = excluded.localId,
                ownerId = excluded.ownerId, checksum = excluded.checksum, createdAt = excluded.createdAt,
                fileId = excluded.fileId
            """
        try db.execute(
            sql: sql,
            arguments: [
                asset.id.text, asset.remoteID, asset.localID, asset.ownerID, asset.checksum,
                asset.createdAt.millisecondsSince1970, asset.fileID,
            ])
    }

    static func all(of owner: String, _ db: Database) throws -> [Asset] {
        try fetch("WHERE asset.ownerId = ? ORDER BY asset.createdAt, asset.id", [owner], db)
    }

    static func one(remoteID: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset.remoteId = ?", [remoteID], db).first
    }

    static func one(localID: String, owner: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset.ownerId = ? AND asset.localId = ?", [owner, localID], db).first
    }

    static func one(checksum: String, owner: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset.ownerId = ? AND asset.checksum = ?", [owner, checksum], db).first
    }

    /// - Returns: whether there was one.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }

    /// - Parameter condition: joins, conditions and the order, as they follow the name of the table.
    static func fetch(_ condition: String, _ arguments: StatementArguments, _ db: Database) throws -> [Asset] {
        let sql = """
            SELECT asset.id, asset.remoteId, asset.localId, asset.ownerId, asset.checksum, asset.createdAt, asset.fileId
            FROM asset \(condition)
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
