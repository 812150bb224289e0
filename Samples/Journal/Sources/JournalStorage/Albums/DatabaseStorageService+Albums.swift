public import Foundation
public import GRDB
public import LFS

/// Albums of pictures, which only the database implementation has. A photo app needs them, and accounts can share them.
extension DatabaseStorageService {
    /// Stores an album. An album with the same id is replaced and keeps its pictures.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` if the owner has another album with the same local
    ///   id, or if any other album has the same remote id.
    public func saveAlbum(_ album: Album) async throws {
        try Self.requireStorable(
            "album \(album.id.text)", date: album.createdAt,
            texts: [album.remoteID, album.localID, album.ownerID, album.name])
        try await write("album \(album.id.text)") { db in try AlbumTable.put(album, db) }
    }

    /// Returns the albums of an owner by the time of their creation.
    public func loadAlbums(of ownerID: String) async throws -> [Album] {
        try await loadAllAlbums(of: ownerID).albums
    }

    /// Returns the albums of an owner as ``loadAlbums(of:)`` does, and the albums that another account has shared and
    /// that cannot be read.
    public func loadAllAlbums(of ownerID: String) async throws -> (albums: [Album], unreadable: [UnreadableAlbum]) {
        try await read("The albums") { db in try AlbumTable.all(of: ownerID, db) }
    }

    /// Deletes an album, but not its assets.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteAlbum(_ id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AlbumTable.delete(id, db) else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    /// Returns the album with an id, including an album that another account shares, or nil if it does not exist.
    public func loadAlbum(_ id: UUID) async throws -> Album? {
        try await read("album \(id.text)") { db in try AlbumTable.one(id, db) }
    }

    /// Returns the files of all pictures that an album shows, in its order. Files that another account has added are
    /// included, although they are not assets of this account.
    public func loadImages(inAlbum id: UUID) async throws -> [StoredImage] {
        try await read("album \(id.text)") { db in try AlbumLinkTable.images(in: id, db) }
    }

    /// Returns the first file of an album, or nil if the album is empty.
    public func loadCover(ofAlbum id: UUID) async throws -> FileData? {
        try await read("album \(id.text)") { db in try AlbumLinkTable.cover(of: id, db) }
    }

    /// Returns a request for the files that albums show, such as for `EvictionPolicy.keep(_:)`.
    ///
    /// - Parameter ids: The lowercase ids of the albums. Unknown ids are ignored.
    public static func files(inAlbums ids: [String]) -> QueryInterfaceRequest<FileData> {
        AlbumLinkTable.files(in: ids)
    }

    /// Returns the assets of this account that an album shows, in its order.
    public func loadAssets(inAlbum id: UUID) async throws -> [Asset] {
        try await read("album \(id.text)") { db in try AlbumLinkTable.assets(in: id, db) }
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
            guard try AlbumLinkTable.remove(file, from: id, db) else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "it is not in the album")
            }
        }
    }
}
