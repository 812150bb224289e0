import Foundation
import GRDB
import LFS

/// Which files albums show, in which order, and whose assets they are.
enum AlbumLinkTable {
    /// Shows exactly these assets, and writes what differs.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` for an asset that is not there, and for two with
    ///   one file.
    static func arrange(_ assets: [UUID], in album: UUID, _ db: Database) throws {
        let files = try assets.map { try file(of: $0, album, db) }
        guard Set(files).count == files.count else { throw refusal(album, "a picture would be in it twice") }
        let places = try places(album, db)
        for file in places.keys where !files.contains(file) { try delete(file, from: album, db) }
        for (index, position) in Positions.arranged(files.map { places[$0] }).enumerated() {
            try put(assets[index], files[index], in: album, at: position, db)
        }
    }

    /// Shows an asset at the end, if it does not show it yet.
    static func add(_ asset: UUID, to album: UUID, _ db: Database) throws {
        let (file, places) = (try file(of: asset, album, db), try places(album, db))
        guard places[file] == nil else { return }
        try put(asset, file, in: album, at: Positions.next(after: places.values), db)
    }

    /// - Returns: whether it was shown.
    static func remove(_ file: FileData.ID, from album: UUID, _ db: Database) throws -> Bool {
        try delete("\(file)", from: album, db)
        return db.changesCount > 0
    }

    /// Those of an album that this account has, in the album's order.
    static func assets(in album: UUID, _ db: Database) throws -> [Asset] {
        try AssetTable.fetch(
            "JOIN album_asset ON album_asset.assetId = asset.id WHERE album_asset.albumId = ? "
                + "ORDER BY album_asset.position, album_asset.id", [album.text], db)
    }

    /// All files of an album in its order, also those that others have put there.
    static func images(in album: UUID, _ db: Database) throws -> [StoredImage] {
        let ids = try String.fetchAll(
            db, sql: "SELECT fileId FROM album_asset WHERE albumId = ? ORDER BY position, id",
            arguments: [album.text])
        let images = try StoredImage.all(ids, db)
        return ids.compactMap { images[$0] }
    }

    private static func places(_ album: UUID, _ db: Database) throws -> [String: Int] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT fileId, position FROM album_asset WHERE albumId = ?", arguments: [album.text])
        return rows.reduce(into: [:]) { places, row in
            places[String.fromDatabaseValue(row[0]) ?? ""] = Positions.place(row[1])
        }
    }

    private static func file(of asset: UUID, _ album: UUID, _ db: Database) throws -> String {
        let sql = "SELECT fileId FROM asset WHERE id = ?"
        guard let file = try String.fetchOne(db, sql: sql, arguments: [asset.text]) else {
            throw refusal(album, "there is no asset \(asset.text)")
        }
        return file
    }

    /// Two devices that put one picture into one album make one row.
    private static func put(
        _ asset: UUID, _ file: String, in album: UUID, at position: Int, _ db: Database
    ) throws {
        let sql = """
            INSERT INTO album_asset (id, albumId, fileId, assetId, position) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET position = excluded.position WHERE position IS NOT excluded.position
            """
        try db.cachedStatement(sql: sql).execute(arguments: [
            "\(album.text)_\(file)", album.text, file, asset.text, position,
        ])
    }

    private static func delete(_ file: String, from album: UUID, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM album_asset WHERE albumId = ? AND fileId = ?", arguments: [album.text, file])
    }

    private static func refusal(_ album: UUID, _ reason: String) -> FileStorageError {
        .fileWriteFailed(name: "album \(album.text)", reason: reason)
    }
}
