#if canImport(Photos)
import Foundation
public import LFSBackup
import Photos

extension PhotoSource {
    /// Creates a source of the photo library of the user.
    ///
    /// Ask for access with `PHPhotoLibrary.requestAuthorization(for: .readWrite)` before the first walk. With limited
    /// access, a walk returns the photos that the user has selected.
    ///
    /// - Parameters:
    ///   - groups: the albums, whose ids are local identifiers of `PHAssetCollection`. Nil selects all photos.
    ///   - allowsNetwork: true to download originals that are only in iCloud, over any network. If false, they are
    ///     reported as failed, and the next backup tries again.
    public init(_ groups: [BackupGroup]? = nil, allowsNetwork: Bool = false) {
        self.init(UserPhotoLibrary(), groups: groups, allowsNetwork: allowsNetwork)
    }
}

/// The photo library of the user.
///
/// No object of Photos is stored, because Apple does not declare them as Sendable.
private struct UserPhotoLibrary: PhotoLibrary {
    var access: PhotoAccess {
        PhotoAccess(rawValue: PHPhotoLibrary.authorizationStatus(for: .readWrite).rawValue) ?? .denied
    }

    func identifiers() -> [String] { identifiers(PHAsset.fetchAssets(with: nil)) }

    func photos(_ identifiers: [String]) -> [LibraryPhoto] {
        let found = PHAsset.fetchAssets(withLocalIdentifiers: identifiers, options: nil)
        return (0..<found.count).map { LibraryPhoto(found.object(at: $0)) }
    }

    func members(ofAlbum identifier: String) -> [String]? {
        let album = PHAssetCollection.fetchAssetCollections(withLocalIdentifiers: [identifier], options: nil)
        return album.firstObject.map { identifiers(PHAsset.fetchAssets(in: $0, options: nil)) }
    }

    func read(
        _ kind: PhotoResource.Kind, of identifier: String, allowsNetwork: Bool, into channel: ChunkChannel
    ) -> @Sendable () -> Void {
        let asset = PHAsset.fetchAssets(withLocalIdentifiers: [identifier], options: nil).firstObject
        let resources = asset.map(PHAssetResource.assetResources(for:)) ?? []
        guard let resource = resources.first(where: { $0.type.rawValue == kind.rawValue }) else {
            channel.finish(PhotoFailure.missingResource)
            return {}
        }
        let options = PHAssetResourceRequestOptions()
        options.isNetworkAccessAllowed = allowsNetwork
        let request = PHAssetResourceManager.default().requestData(
            for: resource, options: options,
            dataReceivedHandler: { data in
                // A copy, because the data may not be valid after the handler.
                channel.put(Array(data))
            },
            completionHandler: { error in channel.finish(error.map(PhotoFailure.init)) })
        return { PHAssetResourceManager.default().cancelDataRequest(request) }
    }

    private func identifiers(_ found: PHFetchResult<PHAsset>) -> [String] {
        (0..<found.count).map { found.object(at: $0).localIdentifier }
    }
}

extension LibraryPhoto {
    fileprivate init(_ asset: PHAsset) {
        let kind: PhotoAttributes.Kind =
            switch asset.mediaType {
            case .image: .image
            case .video: .video
            case .audio: .audio
            default: .unknown
            }
        attributes = PhotoAttributes(
            identifier: asset.localIdentifier, kind: kind, createdAt: asset.creationDate,
            modifiedAt: asset.modificationDate, duration: asset.duration, pixelWidth: asset.pixelWidth,
            pixelHeight: asset.pixelHeight, isFavorite: asset.isFavorite)
        resources = PHAssetResource.assetResources(for: asset).compactMap { resource in
            PhotoResource.Kind(rawValue: resource.type.rawValue).map { kind in
                PhotoResource(
                    kind: kind, name: resource.originalFilename, typeIdentifier: resource.uniformTypeIdentifier)
            }
        }
    }
}

extension PhotoFailure {
    fileprivate init(_ error: any Error) {
        let error = error as NSError
        self.init(error.code, domain: error.domain)
    }
}
#endif
