public import Foundation
import GRDB
public import LFS

/// Favourites among the pictures of albums. They are marks of this account, which its devices share.
extension DatabaseStorageService {
    /// Returns the pictures of an album that are assets of this account, and whether each is a favourite. Assets with
    /// damaged values are left out.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    public func loadFavorites(inAlbum id: UUID) async throws -> [FileData.ID: Bool] {
        let sql = """
            SELECT asset.fileId, asset.isFavorite FROM album_asset JOIN asset ON asset.id = album_asset.assetId
            WHERE album_asset.albumId = ?
            """
        return try await read("album \(id.text)") { db in
            try Row.fetchAll(db, sql: sql, arguments: [id.text]).reduce(into: [:]) { favorites, row in
                guard let file = FileData.ID.fromDatabaseValue(row[0]), let mark = Bool.fromDatabaseValue(row[1]) else {
                    return
                }
                favorites[file] = mark
            }
        }
    }

    /// Marks a picture of an album as a favourite of this account, or removes the mark.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` for a picture that is not in the album, or that
    ///   another account has added. ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func setFavorite(_ isFavorite: Bool, file: FileData.ID, inAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            let sql = """
                UPDATE asset SET isFavorite = ? WHERE fileId = ?
                    AND id IN (SELECT assetId FROM album_asset WHERE albumId = ? AND fileId = asset.fileId)
                """
            try db.execute(sql: sql, arguments: [isFavorite, file, id.text])
            guard db.changesCount > 0 else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "this account has not added it")
            }
        }
    }
}
