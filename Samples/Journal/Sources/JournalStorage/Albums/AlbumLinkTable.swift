import Foundation
import GRDB
import LFS

/// A table of the files that albums show, with their order and the assets that they belong to.
enum AlbumLinkTable {
    /// Sets the assets of an album, and writes only the rows that differ.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if an asset does not exist or if two assets have
    ///   the same file.
    static func arrange(_ assets: [UUID], in album: UUID, _ db: Database) throws {
        let files = try assets.map { try file(of: $0, album, db) }
        guard Set(files).count == files.count else { throw refusal(album, reason: "it would contain a picture twice") }
        let places = try places(album, db)
        for file in places.keys where !files.contains(file) { try delete(file, from: album, db) }
        for (index, position) in Positions.arranged(files.map { places[$0] }).enumerated() {
            try put(assets[index], file: files[index], in: album, at: position, db)
        }
    }

    /// Adds an asset at the end of an album unless the album already shows its file.
    static func add(_ asset: UUID, to album: UUID, _ db: Database) throws {
        let (file, places) = (try file(of: asset, album, db), try places(album, db))
        guard places[file] == nil else { return }
        try put(asset, file: file, in: album, at: Positions.next(after: places.values), db)
    }

    /// - Returns: true if the album showed the file.
    static func remove(_ file: FileData.ID, from album: UUID, _ db: Database) throws -> Bool {
        try delete("\(file)", from: album, db)
        return db.changesCount > 0
    }

    /// Returns the assets of this account in an album, in the album's order.
    static func assets(in album: UUID, _ db: Database) throws -> [Asset] {
        try AssetTable.fetch(
            "JOIN album_asset ON album_asset.assetId = asset.id WHERE album_asset.albumId = ? "
                + "ORDER BY album_asset.position, album_asset.id", arguments: [album.text], db)
    }

    /// Returns all files of an album in its order, including those that other accounts have added.
    ///
    /// - Parameter limit: The maximum number of files. Nil for all of them.
    static func images(in album: UUID, limit: Int? = nil, _ db: Database) throws -> [StoredImage] {
        // SQLite takes a negative limit as none.
        let sql = "SELECT fileId FROM album_asset WHERE albumId = ? ORDER BY position, id LIMIT ?"
        let ids = try String.fetchAll(db, sql: sql, arguments: [album.text, limit ?? -1])
        let images = try StoredImage.all(ids, db)
        return ids.compactMap { images[$0] }
    }

    /// Returns the first file of an album. Nil for an empty album.
    static func cover(of album: UUID, _ db: Database) throws -> FileData? {
        try images(in: album, limit: 1, db).first?.file
    }

    /// Returns a request for the files of albums.
    ///
    /// - Parameter albums: The ids of the albums. Unknown ids are ignored.
    static func files(in albums: [String]) -> QueryInterfaceRequest<FileData> {
        let places = Array(repeating: "?", count: albums.count).joined(separator: ", ")
        return FileData.filter(
            sql: "id IN (SELECT fileId FROM album_asset WHERE albumId IN (\(places)))",
            arguments: StatementArguments(albums))
    }

    private static func places(_ album: UUID, _ db: Database) throws -> [String: Int] {
        let sql = "SELECT fileId, position FROM album_asset WHERE albumId = ?"
        return try Positions.all(sql, arguments: [album.text], db)
    }

    private static func file(of asset: UUID, _ album: UUID, _ db: Database) throws -> String {
        let sql = "SELECT fileId FROM asset WHERE id = ?"
        guard let file = try String.fetchOne(db, sql: sql, arguments: [asset.text]) else {
            throw refusal(album, reason: "there is no asset \(asset.text)")
        }
        return file
    }

    /// Inserts or moves a row. Two devices that add the same picture to the same album create the same row.
    private static func put(
        _ asset: UUID, file: String, in album: UUID, at position: Int, _ db: Database
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

    private static func refusal(_ album: UUID, reason: FileStorageError.Reason) -> FileStorageError {
        .fileWriteFailed(name: "album \(album.text)", reason: reason)
    }
}
