public import Foundation
public import GRDB
public import LFS
import LFSSync

/// Albums of pictures, which only the database implementation has. A photo app needs them, and accounts can share them.
extension DatabaseStorageService {
    /// Stores an album. An album with the same id is replaced and keeps its pictures.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the owner has another album with the same local
    ///   id, or if any other album has the same remote id.
    public func saveAlbum(_ album: Album) async throws {
        let id = album.id.text
        try Self.requireStorable(
            "album \(id)", date: album.createdAt, texts: [album.remoteID, album.localID, album.ownerID, album.name])
        try await write("album \(id)") { db in
            try Self.requireUnique(album, db)
            let sql = """
                INSERT INTO album (id, remoteId, ownerId, name, createdAt) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET remoteId = excluded.remoteId, ownerId = excluded.ownerId,
                    name = excluded.name, createdAt = excluded.createdAt
                """
            try db.execute(
                sql: sql,
                arguments: [id, album.remoteID, album.ownerID, album.name, album.createdAt.millisecondsSince1970])
            try db.execute(sql: "DELETE FROM album_local WHERE albumId = ?", arguments: [id])
            guard let local = album.localID else { return }
            try db.execute(sql: "INSERT INTO album_local (albumId, localId) VALUES (?, ?)", arguments: [id, local])
        }
    }

    /// Checks what unique indexes would check. An index cannot be used, since two devices may write the same value
    /// before they know of each other's row. For the same reason, an album keeps an id that it already has.
    private static func requireUnique(_ album: Album, _ db: Database) throws {
        func refuse(if sql: String, arguments: StatementArguments, reason: FileStorageError.Reason) throws {
            guard try Row.fetchOne(db, sql: sql, arguments: arguments) != nil else { return }
            throw refusal(album.id, reason: reason)
        }
        let stored = try Self.album(album.id, db)
        if stored?.remoteID != album.remoteID {
            try refuse(
                if: "SELECT 1 FROM album WHERE remoteId = ? AND id <> ?", arguments: [album.remoteID, album.id.text],
                reason: "another album has its remote id")
        }
        if stored?.ownerID != album.ownerID || stored?.localID != album.localID {
            try refuse(
                if: """
                    SELECT 1 FROM album_local JOIN album ON album.id = albumId
                    WHERE localId = ? AND ownerId = ? AND albumId <> ?
                    """, arguments: [album.localID, album.ownerID, album.id.text],
                reason: "another album of its owner has its local id")
        }
    }

    private static func refusal(_ album: UUID, reason: FileStorageError.Reason) -> FileStorageError {
        .fileWriteFailed(name: "album \(album.text)", reason: reason)
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
            let rows = try Self.albumRows("WHERE ownerId = ? ORDER BY createdAt, id", arguments: [ownerID], db)
            for row in rows {
                do {
                    albums.append(try Self.album(row))
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
        try await read("album \(id.text)") { db in try Self.album(id, db) }
    }

    private static func album(_ id: UUID, _ db: Database) throws -> Album? {
        try albumRows("WHERE id = ?", arguments: [id.text], db).first.map(album)
    }

    private static func albumRows(
        _ condition: String, arguments: StatementArguments, _ db: Database
    ) throws -> [Row] {
        let sql = """
            SELECT id, remoteId, localId, ownerId, name, createdAt
            FROM album LEFT JOIN album_local ON albumId = id \(condition)
            """
        return try Row.fetchAll(db, sql: sql, arguments: arguments)
    }

    private static func album(_ row: Row) throws -> Album {
        let checked = CheckedRow(row, of: "album")
        return Album(
            id: try checked.id(), remoteID: try checked.optional("remoteId"), localID: try checked.optional("localId"),
            ownerID: try checked.value("ownerId"), name: try checked.value("name"),
            createdAt: try checked.date("createdAt"))
    }

    // MARK: The pictures of albums

    /// Returns the files of all pictures that an album shows, in its order. Files that another account has added are
    /// included, although they are not assets of this account.
    public func loadImages(inAlbum id: UUID) async throws -> [StoredImage] {
        try await read("album \(id.text)") { db in try Self.images(in: id, db) }
    }

    /// Returns the first file of an album, or nil if the album is empty.
    public func loadCover(ofAlbum id: UUID) async throws -> FileData? {
        try await read("album \(id.text)") { db in try Self.images(in: id, limit: 1, db).first?.file }
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
        try await write("album \(id.text)") { db in
            let files = try assets.map { try Self.file(of: $0, album: id, db) }
            guard Set(files).count == files.count else {
                throw Self.refusal(id, reason: "it would contain a picture twice")
            }
            let places = try Self.places(id, db)
            for file in places.keys where !files.contains(file) { try Self.remove(file, from: id, db) }
            // Only the rows that differ are written.
            for (index, position) in Positions.arranged(files.map { places[$0] }).enumerated() {
                try Self.put(assets[index], file: files[index], in: id, at: position, db)
            }
        }
    }

    /// Adds assets at the end of an album. Assets that the album already shows keep their places.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the album or an asset does not exist.
    public func addAssets(_ assets: [UUID], toAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            for asset in assets {
                let file = try Self.file(of: asset, album: id, db)
                let places = try Self.places(id, db)
                guard places[file] == nil else { continue }
                try Self.put(asset, file: file, in: id, at: Positions.next(after: places.values), db)
            }
        }
    }

    /// Removes a picture from an album, even if another account has added it.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` if the album does not show it.
    public func removeImage(_ file: FileData.ID, fromAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            try Self.remove("\(file)", from: id, db)
            guard db.changesCount > 0 else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "it is not in the album")
            }
        }
    }

    /// Returns the files of an album in its order.
    ///
    /// - Parameter limit: The maximum number of files. Nil for all of them.
    private static func images(in album: UUID, limit: Int? = nil, _ db: Database) throws -> [StoredImage] {
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

    private static func file(of asset: UUID, album: UUID, _ db: Database) throws -> String {
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

    private static func remove(_ file: String, from album: UUID, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM album_asset WHERE albumId = ? AND fileId = ?", arguments: [album.text, file])
    }
}
