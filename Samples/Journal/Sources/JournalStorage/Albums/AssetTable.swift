import Foundation
import GRDB
import LFS

/// A table of the assets, each with the file that has its bytes.
enum AssetTable {
    /// Inserts or replaces assets. It reads the stored assets and checks the new ones with one statement each, because
    /// a check of each asset takes longer than the insertion. Of assets with the same id, it stores the last one.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if another asset has one of the ids, or if another
    ///   asset of the same owner has the checksum.
    static func put(_ given: [Asset], _ db: Database) throws {
        let assets = Array(Dictionary(given.map { ($0.id, $0) }) { _, last in last }.values)
        let ids = try json(assets.map(\.id.text))
        let stored = Dictionary(
            try fetch("WHERE asset.id IN (SELECT value FROM json_each(?))", arguments: [ids], db).map { ($0.id, $0) }
        ) { first, _ in first }
        try db.execute(
            sql: "DELETE FROM asset_local WHERE assetId IN (SELECT value FROM json_each(?))", arguments: [ids])
        for asset in assets { try write(asset, db) }
        // Two devices may have given the same id to two assets: an asset keeps an id that it already has.
        func isChanged(_ asset: Asset, at value: KeyPath<Asset, String?>) -> Bool {
            guard let earlier = stored[asset.id] else { return true }
            return earlier[keyPath: value] != asset[keyPath: value]
        }
        func isOfOther(_ asset: Asset) -> Bool { stored[asset.id]?.ownerID != asset.ownerID }
        try refuse(
            assets.filter { isChanged($0, at: \.remoteID) },
            sharing: "JOIN asset b ON b.remoteId = a.remoteId AND b.id <> a.id",
            reason: "another asset has its remote id", db)
        try refuse(
            assets.filter { isOfOther($0) || isChanged($0, at: \.localID) },
            sharing: """
                JOIN asset_local l ON l.assetId = a.id JOIN asset_local m ON m.localId = l.localId
                JOIN asset b ON b.id = m.assetId AND b.ownerId = a.ownerId AND b.id <> a.id
                """, reason: "another asset of its owner has its local id", db)
        try refuse(
            assets.filter { isOfOther($0) || stored[$0.id]?.checksum != $0.checksum },
            sharing: "JOIN asset b ON b.ownerId = a.ownerId AND b.checksum = a.checksum AND b.id <> a.id",
            reason: "another asset of its owner has its checksum", db)
    }

    /// - Parameter joins: The joins from the asset `a` to another asset `b` with an equal value, as SQL.
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if there is such an asset.
    private static func refuse(
        _ assets: [Asset], sharing joins: String, reason: FileStorageError.Reason, _ db: Database
    ) throws {
        guard !assets.isEmpty else { return }
        let sql = "SELECT a.id FROM json_each(?) AS given CROSS JOIN asset a ON a.id = given.value \(joins) LIMIT 1"
        guard let id = try String.fetchOne(db, sql: sql, arguments: [try json(assets.map(\.id.text))]) else { return }
        throw FileStorageError.fileWriteFailed(name: "asset \(id)", reason: reason)
    }

    /// Inserts or replaces the rows of an asset whose local id was removed before.
    private static func write(_ asset: Asset, _ db: Database) throws {
        let sql = """
            INSERT INTO asset (id, remoteId, ownerId, checksum, createdAt, fileId, type, width, height, duration,
                isFavorite, modifiedAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, ownerId = excluded.ownerId,
                checksum = excluded.checksum, createdAt = excluded.createdAt, fileId = excluded.fileId,
                type = excluded.type, width = excluded.width, height = excluded.height, duration = excluded.duration,
                isFavorite = excluded.isFavorite, modifiedAt = excluded.modifiedAt
            """
        try db.cachedStatement(sql: sql).execute(
            arguments: [
                asset.id.text, asset.remoteID, asset.ownerID, asset.checksum, asset.createdAt.millisecondsSince1970,
                asset.fileID, asset.kind.rawValue, asset.width, asset.height, asset.duration?.wholeMilliseconds,
                asset.isFavorite, asset.modifiedAt?.millisecondsSince1970,
            ])
        guard let local = asset.localID else { return }
        try db.cachedStatement(sql: "INSERT INTO asset_local (assetId, localId) VALUES (?, ?)").execute(
            arguments: [asset.id.text, local])
    }

    private static func json(_ texts: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
    }

    /// - Parameter period: The times of creation, without the upper bound.
    static func all(of owner: String, createdIn period: Range<Date>, _ db: Database) throws -> [Asset] {
        try fetch(
            """
            WHERE asset.ownerId = ? AND asset.createdAt >= ? AND asset.createdAt < ?
            ORDER BY asset.createdAt, asset.id
            """,
            arguments: [
                owner, period.lowerBound.millisecondsSince1970, period.upperBound.millisecondsSince1970,
            ], db)
    }

    static func all(of owner: String, _ db: Database) throws -> [Asset] {
        try fetch("WHERE asset.ownerId = ? ORDER BY asset.createdAt, asset.id", arguments: [owner], db)
    }

    static func one(remoteID: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset.remoteId = ? ORDER BY asset.createdAt, asset.id", arguments: [remoteID], db).first
    }

    static func one(localID: String, owner: String, _ db: Database) throws -> Asset? {
        try fetch("WHERE asset_local.localId = ? AND asset.ownerId = ?", arguments: [localID, owner], db).first
    }

    static func one(checksum: String, owner: String, _ db: Database) throws -> Asset? {
        // Two devices may each have created one: every device uses the first one.
        try fetch(
            "WHERE asset.ownerId = ? AND asset.checksum = ? ORDER BY asset.createdAt, asset.id",
            arguments: [owner, checksum], db
        ).first
    }

    /// Returns the files of this account's assets in an album, and whether each is a favourite. Leaves out rows with
    /// damaged values.
    static func marks(inAlbum album: UUID, _ db: Database) throws -> [FileData.ID: Bool] {
        let sql = """
            SELECT asset.fileId, asset.isFavorite FROM album_asset JOIN asset ON asset.id = album_asset.assetId
            WHERE album_asset.albumId = ?
            """
        return try Row.fetchAll(db, sql: sql, arguments: [album.text]).reduce(into: [:]) { marks, row in
            guard let file = FileData.ID.fromDatabaseValue(row[0]), let mark = Bool.fromDatabaseValue(row[1]) else {
                return
            }
            marks[file] = mark
        }
    }

    /// Marks the asset of a file in an album as a favourite, or removes the mark.
    ///
    /// - Returns: true if this account has such an asset.
    static func mark(
        _ isFavorite: Bool, file: FileData.ID, inAlbum album: UUID, _ db: Database
    ) throws -> Bool {
        let sql = """
            UPDATE asset SET isFavorite = ? WHERE fileId = ?
                AND id IN (SELECT assetId FROM album_asset WHERE albumId = ? AND fileId = asset.fileId)
            """
        try db.execute(sql: sql, arguments: [isFavorite, file, album.text])
        return db.changesCount > 0
    }

    /// Deletes an asset and removes it from all albums.
    ///
    /// - Returns: true if the asset existed.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM album_asset WHERE assetId = ?", arguments: [id.text])
        try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }

    /// Deletes the assets with these remote ids and removes them from all albums.
    ///
    /// - Returns: The number of deleted assets.
    static func delete(remoteIDs: [String], _ db: Database) throws -> Int {
        let ids = try json(remoteIDs)
        let condition = "remoteId IN (SELECT value FROM json_each(?))"
        try db.execute(
            sql: "DELETE FROM album_asset WHERE assetId IN (SELECT id FROM asset WHERE \(condition))", arguments: [ids])
        try db.execute(sql: "DELETE FROM asset WHERE \(condition)", arguments: [ids])
        return db.changesCount
    }

    /// Returns a request for the files of the favourites.
    static func favorites() -> QueryInterfaceRequest<FileData> {
        FileData.filter(sql: "id IN (SELECT fileId FROM asset WHERE isFavorite)")
    }

    /// - Parameter condition: The joins, the condition and the order, as SQL that follows the name of the table.
    static func fetch(_ condition: String, arguments: StatementArguments, _ db: Database) throws -> [Asset] {
        let sql = """
            SELECT asset.id, asset.remoteId, asset_local.localId, asset.ownerId, asset.checksum, asset.createdAt,
                asset.fileId, asset.type, asset.width, asset.height, asset.duration, asset.isFavorite, asset.modifiedAt
            FROM asset LEFT JOIN asset_local ON asset_local.assetId = asset.id \(condition)
            """
        let rows = try Row.fetchCursor(db, sql: sql, arguments: arguments)
        var assets: [Asset] = []
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "asset")
            let duration = try checked.optional("duration").map { (count: Int64) in Duration.milliseconds(count) }
            assets.append(
                Asset(
                    id: try checked.id(), remoteID: try checked.optional("remoteId"),
                    localID: try checked.optional("localId"), ownerID: try checked.value("ownerId"),
                    checksum: try checked.value("checksum"), createdAt: try checked.date("createdAt"),
                    fileID: try checked.value("fileId"), kind: Asset.Kind(rawValue: try checked.value("type")),
                    width: try checked.optional("width"), height: try checked.optional("height"), duration: duration,
                    isFavorite: try checked.value("isFavorite"), modifiedAt: try checked.optionalDate("modifiedAt")))
        }
        return assets
    }
}
