public import Foundation
import GRDB
public import LFS

/// Albums of pictures, in the database form only: what a photo app needs, and what accounts share.
extension DatabaseStorageService {
    // MARK: Assets

    /// Stores an asset: a new one, or in the place of the one with its id.
    ///
    /// Its file has to be in the database: that of a picture (``imageFile(filename:for:)``), or one that
    /// ``makeAsset(from:_:)`` has just made.
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when the owner has another asset with its checksum
    ///   or its local id, or somebody one with its remote id.
    public func saveAsset(_ asset: Asset) async throws {
        try Self.requireStorable(
            "asset \(asset.id.text)", asset.createdAt, [asset.remoteID, asset.localID, asset.ownerID])
        try await write("asset \(asset.id.text)") { db in try AssetTable.put(asset, db) }
    }

    /// Stores a picture that belongs to no record as an asset.
    ///
    /// - Parameters:
    ///   - source: its bytes.
    ///   - make: takes the file that they have become, and gives the asset.
    /// - Returns: the asset that now has these bytes: the owner's earlier one when there is one with this checksum.
    /// - Throws: as ``saveAsset(_:)``, and ``FileStorageError/imageWriteFailed(name:reason:)`` for the bytes.
    public func makeAsset(
        from source: FileSource, _ make: @escaping @Sendable (FileData) -> Asset
    ) async throws -> Asset {
        try await Self.catching {
            .imageWriteFailed(name: "asset", reason: $0)
        } _: {
            let file = try await lfs.makeFile(from: source)
            let asset = make(file)
            do {
                try Self.requireStorable(
                    "asset \(asset.id.text)", asset.createdAt, [asset.remoteID, asset.localID, asset.ownerID])
                let stored = try await write("asset \(asset.id.text)") { db in
                    if let earlier = try AssetTable.one(checksum: asset.checksum, owner: asset.ownerID, db) {
                        return earlier
                    }
                    try file.insert(db)
                    try AssetTable.put(asset, db)
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

    /// The assets of an owner, by the time when they were made.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``, ``FileStorageError/decodingFailed(name:reason:)``.
    public func loadAssets(of ownerID: String) async throws -> [Asset] {
        try await read("The assets") { db in try AssetTable.all(of: ownerID, db) }
    }

    /// The asset that a server calls so, if there is one.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAsset(remoteID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(remoteID: remoteID, db) }
    }

    /// The asset of an owner that the photo library of this device calls so, if there is one.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAsset(localID: String, ownerID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(localID: localID, owner: ownerID, db) }
    }

    /// The asset of an owner with these bytes, if there is one.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAsset(checksum: String, ownerID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(checksum: checksum, owner: ownerID, db) }
    }

    /// Deletes an asset, also from albums. Its file goes unless a record has it.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteAsset(_ id: UUID) async throws {
        try await write("asset \(id.text)") { db in
            guard try AssetTable.delete(id, db) else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    // MARK: Albums

    /// Stores an album: a new one, or in the place of the one with its id. What it shows stays.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when the owner has another album with its local id,
    ///   or somebody one with its remote id.
    public func saveAlbum(_ album: Album) async throws {
        try Self.requireStorable(
            "album \(album.id.text)", album.createdAt, [album.remoteID, album.localID, album.ownerID, album.name])
        try await write("album \(album.id.text)") { db in try AlbumTable.put(album, db) }
    }

    /// The albums of an owner, by the time when they were made.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAlbums(of ownerID: String) async throws -> [Album] {
        try await loadAllAlbums(of: ownerID).albums
    }

    /// Returns the albums of an owner as ``loadAlbums(of:)`` does, and the albums that another account has shared and
    /// that cannot be read.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAllAlbums(of ownerID: String) async throws -> (albums: [Album], unreadable: [UnreadableAlbum]) {
        try await read("The albums") { db in try AlbumTable.all(of: ownerID, db) }
    }

    /// Deletes an album. Its assets stay.
    ///
    /// - Throws: ``FileStorageError/fileNotFound(name:)``, ``FileStorageError/fileWriteFailed(name:reason:)``.
    public func deleteAlbum(_ id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AlbumTable.delete(id, db) else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    /// The album with an id, also one that somebody else shares; nil if there is none.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAlbum(_ id: UUID) async throws -> Album? {
        try await read("album \(id.text)") { db in try AlbumTable.one(id, db) }
    }

    /// The files of all pictures that an album shows, in its order: also those that are no assets of this account,
    /// since somebody else has put them there.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)``.
    public func loadImages(inAlbum id: UUID) async throws -> [StoredImage] {
        try await read("album \(id.text)") { db in try AlbumLinkTable.images(in: id, db) }
    }

    /// The assets of this account that an album shows, in its order.
    ///
    /// - Throws: as ``loadAssets(of:)``.
    public func loadAssets(inAlbum id: UUID) async throws -> [Asset] {
        try await read("album \(id.text)") { db in try AlbumLinkTable.assets(in: id, db) }
    }

    /// Lets an album show exactly these assets in this order, each once.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when there is no such album or asset, or one comes
    ///   twice.
    public func setAssets(_ assets: [UUID], inAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in try AlbumLinkTable.arrange(assets, in: id, db) }
    }

    /// Lets an album show assets at its end besides. Those that it shows already stay where they are.
    ///
    /// - Throws: ``FileStorageError/fileWriteFailed(name:reason:)`` when there is no such album or asset.
    public func addAssets(_ assets: [UUID], toAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            for asset in assets { try AlbumLinkTable.add(asset, to: id, db) }
        }
    }

    /// Takes a picture out of an album, whoever has put it there.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` when it is not in it.
    public func removeImage(_ file: FileData.ID, fromAlbum id: UUID) async throws {
        try await write("album \(id.text)") { db in
            guard try AlbumLinkTable.remove(file, from: id, db) else {
                throw FileStorageError.imageNotFound(name: "\(file)", reason: "the album does not show it")
            }
        }
    }

    private static func requireStorable(_ name: String, _ date: Date, _ texts: [String?]) throws {
        if date.storableMilliseconds == nil {
            throw FileStorageError.encodingFailed(name: name, reason: "its time is in no year from 1 to 9999")
        }
        if texts.contains(where: { $0?.hasNull == true }) {
            throw FileStorageError.encodingFailed(name: name, reason: "a text of it has the character U+0000")
        }
    }
}
