public import Foundation
public import GRDB
public import LFS

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

    fileprivate static func json(_ texts: [String]) throws -> String {
        String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
    }

    /// The order of lists of assets.
    fileprivate static let order = "ORDER BY asset.createdAt, asset.id"

    static func one(checksum: String, owner: String, _ db: Database) throws -> Asset? {
        // Two devices may each have created one: every device uses the first one.
        try fetch(
            "WHERE asset.ownerId = ? AND asset.checksum = ? \(order)",
            arguments: [owner, checksum], db
        ).first
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

/// Pictures of an owner, which albums show, and which of them are favourites.
extension DatabaseStorageService {
    /// Stores an asset. An asset with the same id is replaced.
    ///
    /// The file must be in the database: that of a picture (``imageFile(filename:for:)``), or one that
    /// ``makeAsset(from:_:)`` has just created.
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the owner has another asset with the same
    ///   checksum or local id, or if any other asset has the same remote id.
    ///   ``FileStorageError/encodingFailed(name:reason:)`` for a value that cannot be stored.
    public func saveAsset(_ asset: Asset) async throws {
        try Self.requireStorable(asset)
        try await write("asset \(asset.id.text)") { db in try AssetTable.put([asset], db) }
    }

    /// Stores many assets in one transaction, all or none. If an asset is given twice, the last one counts.
    ///
    /// - Throws: The errors of ``saveAsset(_:)`` for the first asset that cannot be stored.
    public func saveAssets(_ assets: [Asset]) async throws {
        for asset in assets { try Self.requireStorable(asset) }
        try await write("The assets") { db in try AssetTable.put(assets, db) }
    }

    /// Stores a picture that belongs to no record as an asset.
    ///
    /// - Parameters:
    ///   - source: The bytes.
    ///   - make: A closure that returns the asset for the file that is created from the bytes.
    /// - Returns: The asset that now has these bytes: the owner's earlier asset if it has the same checksum.
    /// - Throws: The errors of ``saveAsset(_:)``, and ``FileStorageError/imageWriteFailed(name:reason:)`` for the
    ///   bytes.
    public func makeAsset(
        from source: FileSource, _ make: @escaping @Sendable (FileData) -> Asset
    ) async throws -> Asset {
        try await Self.catching {
            .imageWriteFailed(name: "asset", reason: $0)
        } _: {
            let file = try await lfs.makeFile(from: source)
            let asset = make(file)
            do {
                try Self.requireStorable(asset)
                let stored = try await write("asset \(asset.id.text)") { db in
                    if let earlier = try AssetTable.one(checksum: asset.checksum, owner: asset.ownerID, db) {
                        return earlier
                    }
                    try file.insert(db)
                    try AssetTable.put([asset], db)
                    return asset
                }
                if stored.fileID != file.id { try await lfs.discard(file) }
                return stored
            } catch {
                try await lfs.discard(file)
                throw error
            }
        }
    }

    /// Returns the assets of an owner by the time of their creation.
    public func loadAssets(of ownerID: String) async throws -> [Asset] {
        try await read("The assets") { db in
            try AssetTable.fetch("WHERE asset.ownerId = ? \(AssetTable.order)", arguments: [ownerID], db)
        }
    }

    /// Returns the assets of an owner that were created in a period, by the time of their creation.
    ///
    /// - Parameter period: The times of creation. The upper bound is not included.
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)`` for a time that is not in the years 1 to 9999.
    public func loadAssets(of ownerID: String, createdIn period: Range<Date>) async throws -> [Asset] {
        for date in [period.lowerBound, period.upperBound] {
            try Self.requireStorable("The period", date: date, texts: [])
        }
        let (start, end) = (period.lowerBound.millisecondsSince1970, period.upperBound.millisecondsSince1970)
        return try await read("The assets") { db in
            try AssetTable.fetch(
                "WHERE asset.ownerId = ? AND asset.createdAt >= ? AND asset.createdAt < ? \(AssetTable.order)",
                arguments: [ownerID, start, end], db)
        }
    }

    /// Returns the asset with the given remote id, or nil if no asset has it.
    public func loadAsset(remoteID: String) async throws -> Asset? {
        try await read("asset") { db in
            try AssetTable.fetch("WHERE asset.remoteId = ? \(AssetTable.order)", arguments: [remoteID], db).first
        }
    }

    /// Returns the asset of an owner with the given id in the photo library of this device, or nil if no asset has it.
    public func loadAsset(localID: String, ownerID: String) async throws -> Asset? {
        let condition = "WHERE asset_local.localId = ? AND asset.ownerId = ?"
        return try await read("asset") { db in
            try AssetTable.fetch(condition, arguments: [localID, ownerID], db).first
        }
    }

    /// Returns the asset of an owner whose bytes have the given checksum, or nil if no asset has it.
    public func loadAsset(checksum: String, ownerID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(checksum: checksum, owner: ownerID, db) }
    }

    /// Deletes an asset and removes it from all albums. Its file is deleted too unless a record contains it.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteAsset(_ id: UUID) async throws {
        try await write("asset \(id.text)") { db in
            try db.execute(sql: "DELETE FROM album_asset WHERE assetId = ?", arguments: [id.text])
            try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id.text])
            guard db.changesCount > 0 else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    /// Deletes the assets with the given remote ids in one transaction, and removes them from all albums. Unknown ids
    /// are ignored.
    ///
    /// - Returns: The number of deleted assets.
    @discardableResult public func deleteAssets(remoteIDs: [String]) async throws -> Int {
        let ids = try AssetTable.json(remoteIDs)
        let chosen = "FROM asset WHERE remoteId IN (SELECT value FROM json_each(?))"
        return try await write("The assets") { db in
            try db.execute(
                sql: "DELETE FROM album_asset WHERE assetId IN (SELECT id \(chosen))", arguments: [ids])
            try db.execute(sql: "DELETE \(chosen)", arguments: [ids])
            return db.changesCount
        }
    }

    /// Returns a request for the files of the favourites, such as for `EvictionPolicy.keep(_:)`.
    public static func favorites() -> QueryInterfaceRequest<FileData> {
        FileData.filter(sql: "id IN (SELECT fileId FROM asset WHERE isFavorite)")
    }

    /// Returns the pictures of an album that are assets of this account, and whether each is a favourite. Assets with
    /// damaged values are left out.
    public func loadFavorites(inAlbum id: UUID) async throws -> [FileData.ID: Bool] {
        let sql = """
            SELECT asset.fileId, asset.isFavorite FROM album_asset JOIN asset ON asset.id = album_asset.assetId
            WHERE album_asset.albumId = ?
            """
        return try await read("album \(id.text)") { db in
            try Row.fetchAll(db, sql: sql, arguments: [id.text]).reduce(into: [:]) { marks, row in
                guard let file = FileData.ID.fromDatabaseValue(row[0]), let mark = Bool.fromDatabaseValue(row[1])
                else { return }
                marks[file] = mark
            }
        }
    }

    /// Marks a picture of an album as a favourite of this account, or removes the mark.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` for a picture that is not in the album, or that
    ///   another account has added. ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func setFavorite(_ isFavorite: Bool, file: FileData.ID, inAlbum id: UUID) async throws {
        let sql = """
            UPDATE asset SET isFavorite = ? WHERE fileId = ?
                AND id IN (SELECT assetId FROM album_asset WHERE albumId = ? AND fileId = asset.fileId)
            """
        try await write("album \(id.text)") { db in
            try db.execute(sql: sql, arguments: [isFavorite, file, id.text])
            guard db.changesCount > 0 else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "this account has not added it")
            }
        }
    }

    private static func requireStorable(_ asset: Asset) throws {
        let name = "asset \(asset.id.text)"
        try requireStorable(
            name, date: asset.createdAt,
            texts: [asset.remoteID, asset.localID, asset.ownerID, asset.kind.rawValue])
        if let modifiedAt = asset.modifiedAt { try requireStorable(name, date: modifiedAt, texts: []) }
        guard [asset.width, asset.height].allSatisfy({ $0.map { $0 > 0 } ?? true }),
            asset.duration.map({ $0.wholeMilliseconds != nil }) ?? true
        else {
            throw FileStorageError.encodingFailed(
                name: name, reason: "its size has to be positive, and its duration at most a hundred years")
        }
    }

    static func requireStorable(_ name: String, date: Date, texts: [String?]) throws {
        if date.storableMilliseconds == nil {
            throw FileStorageError.encodingFailed(name: name, reason: "its time is not in the years 1 to 9999")
        }
        if texts.contains(where: { $0?.hasNull == true }) {
            throw FileStorageError.encodingFailed(name: name, reason: "one of its texts has the character U+0000")
        }
    }
}
