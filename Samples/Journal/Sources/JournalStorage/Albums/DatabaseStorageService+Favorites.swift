public import Foundation
public import LFS

/// Favourites among the pictures of albums. They are marks of this account, which its devices share.
extension DatabaseStorageService {
    /// Returns the pictures of an album that are assets of this account, and whether each is a favourite. Assets with
    /// damaged values are left out.
    public func loadFavorites(inAlbum id: UUID) async throws -> [FileData.ID: Bool] {
        try await read("album \(id.text)") { db in try AssetTable.marks(inAlbum: id, db) }
    }

    /// Marks a picture of an album as a favourite of this account, or removes the mark.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` for a picture that is not in the album, or that
    ///   another account has added. ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func setFavorite(_ isFavorite: Bool, file: FileData.ID, inAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AssetTable.mark(isFavorite, file: file, inAlbum: id, db) else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "this account has not added it")
            }
        }
    }
}
