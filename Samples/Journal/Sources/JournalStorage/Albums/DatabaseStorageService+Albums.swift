public import Foundation
public import GRDB
public import LFS

/// Albums of pictures, which only the database implementation has. A photo app needs them, and accounts can share them.
extension DatabaseStorageService {
    // MARK: Assets

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
        try await read("The assets") { db in try AssetTable.all(of: ownerID, db) }
    }

    /// Returns the assets of an owner that were created in a period, by the time of their creation.
    ///
    /// - Parameter period: The times of creation. The upper bound is not included.
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)`` for a time that is not in the years 1 to 9999.
    public func loadAssets(of ownerID: String, createdIn period: Range<Date>) async throws -> [Asset] {
        for date in [period.lowerBound, period.upperBound] {
            try Self.requireStorable("The period", date: date, texts: [])
        }
        return try await read("The assets") { db in try AssetTable.all(of: ownerID, createdIn: period, db) }
    }

    /// Returns the asset with the given remote id, or nil if no asset has it.
    public func loadAsset(remoteID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(remoteID: remoteID, db) }
    }

    /// Returns the asset of an owner with the given id in the photo library of this device, or nil if no asset has it.
    public func loadAsset(localID: String, ownerID: String) async throws -> Asset? {
        try await read("asset") { db in try AssetTable.one(localID: localID, owner: ownerID, db) }
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
            guard try AssetTable.delete(id, db) else { throw FileStorageError.fileNotFound(name: id.text) }
        }
    }

    /// Deletes the assets with the given remote ids in one transaction, and removes them from all albums. Unknown ids
    /// are ignored.
    ///
    /// - Returns: The number of deleted assets.
    @discardableResult public func deleteAssets(remoteIDs: [String]) async throws -> Int {
        try await write("The assets") { db in try AssetTable.delete(remoteIDs: remoteIDs, db) }
    }

    /// Returns a request for the files of the favourites, such as for `EvictionPolicy.keep(_:)`.
    public static func favorites() -> QueryInterfaceRequest<FileData> { AssetTable.favorites() }

    // MARK: Albums

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

    private static func requireStorable(_ name: String, date: Date, texts: [String?]) throws {
        if date.storableMilliseconds == nil {
            throw FileStorageError.encodingFailed(name: name, reason: "its time is not in the years 1 to 9999")
        }
        if texts.contains(where: { $0?.hasNull == true }) {
            throw FileStorageError.encodingFailed(name: name, reason: "one of its texts has the character U+0000")
        }
    }
}
