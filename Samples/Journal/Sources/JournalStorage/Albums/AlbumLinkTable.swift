public import Foundation
public import GRDB
public import LFS

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

    fileprivate static func delete(_ file: String, from album: UUID, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM album_asset WHERE albumId = ? AND fileId = ?", arguments: [album.text, file])
    }

    private static func refusal(_ album: UUID, reason: FileStorageError.Reason) -> FileStorageError {
        .fileWriteFailed(name: "album \(album.text)", reason: reason)
    }
}

/// The pictures of albums.
extension DatabaseStorageService {
    /// Returns the files of all pictures that an album shows, in its order. Files that another account has added are
    /// included, although they are not assets of this account.
    public func loadImages(inAlbum id: UUID) async throws -> [StoredImage] {
        try await read("album \(id.text)") { db in try AlbumLinkTable.images(in: id, db) }
    }

    /// Returns the first file of an album, or nil if the album is empty.
    public func loadCover(ofAlbum id: UUID) async throws -> FileData? {
        try await read("album \(id.text)") { db in try AlbumLinkTable.images(in: id, limit: 1, db).first?.file }
    }

    /// Returns a request for the files that albums show, such as for `EvictionPolicy.keep(_:)`.
    ///
    /// - Parameter ids: The lowercase ids of the albums. Unknown ids are ignored.
    public static func files(inAlbums ids: [String]) -> QueryInterfaceRequest<FileData> {
        let places = Array(repeating: "?", count: ids.count).joined(separator: ", ")
        return FileData.filter(
            sql: "id IN (SELECT fileId FROM album_asset WHERE albumId IN (\(places)))",
            arguments: StatementArguments(ids))
    }

    /// Returns the assets of this account that an album shows, in its order.
    public func loadAssets(inAlbum id: UUID) async throws -> [Asset] {
        let sql = """
            JOIN album_asset ON album_asset.assetId = asset.id WHERE album_asset.albumId = ?
            ORDER BY album_asset.position, album_asset.id
            """
        return try await read("album \(id.text)") { db in try AssetTable.fetch(sql, arguments: [id.text], db) }
    }

    /// Sets the assets that an album shows and their order.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the album or an asset does not exist, or if the
    ///   list contains an asset twice.
    public func setAssets(_ assets: [UUID], inAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in try AlbumLinkTable.arrange(assets, in: id, db) }
    }

    /// Adds assets at the end of an album. Assets that the album already shows keep their places.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the album or an asset does not exist.
    public func addAssets(_ assets: [UUID], toAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            for asset in assets { try AlbumLinkTable.add(asset, to: id, db) }
        }
    }

    /// Removes a picture from an album, even if another account has added it.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` if the album does not show it.
    public func removeImage(_ file: FileData.ID, fromAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            try AlbumLinkTable.delete("\(file)", from: id, db)
            guard db.changesCount > 0 else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "it is not in the album")
            }
        }
    }
}
