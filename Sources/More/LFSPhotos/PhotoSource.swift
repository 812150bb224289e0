import LFS
public import LFSBackup

/// A source of the pictures, videos and sounds of Apple's photo library, identified by their local identifiers. The ids
/// of the groups are local identifiers of albums.
///
/// - The current version of an edited photo is read, not the one before the edit.
/// - A Live Photo is two originals: its picture and its video. See `PhotoAttributes.isPairedVideo`.
/// - Each change of a photo's modification date lets the photo be read again. Equal bytes are not uploaded again.
/// - Photos that the app may not read, or that were deleted, are not items of a walk. Their files stay.
///
/// Bytes are read in chunks, and copied. They are never held in memory as a whole.
public struct PhotoSource: AssetSource {
    private let library: any PhotoLibrary
    private let groups: [BackupGroup]?
    private let allowsNetwork: Bool

    init(_ library: any PhotoLibrary, groups: [BackupGroup]?, allowsNetwork: Bool) {
        self.library = library
        self.groups = groups
        self.allowsNetwork = allowsNetwork
    }

    /// Starts a walk.
    ///
    /// - Throws: `BackupError.Code.unreadable` without access to the library, and `BackupError.Code.groupAbsent`
    ///   when an excluded album does not exist.
    public func makeWalk() throws -> PhotoWalk {
        if let refusal = library.access.refusal { throw BackupError(.unreadable, message: refusal) }
        return PhotoWalk(library, selection: try PhotoSelection(groups, in: library))
    }

    /// Looks up a photo. Its bytes are requested when they are read.
    ///
    /// - Throws: `BackupError.Code.unreadable`.
    public func open(_ asset: Asset) throws -> OpenedAsset { try open(asset, among: photos(of: [asset])) }

    /// Looks up several photos at once.
    public func open(_ assets: [Asset]) -> [Result<OpenedAsset, any Error>] {
        let photos = photos(of: assets)
        return assets.map { asset in Result { try open(asset, among: photos) } }
    }

    private func photos(of assets: [Asset]) -> [String: LibraryPhoto] {
        let identifiers = Set(assets.compactMap { PhotoReference($0.id)?.identifier })
        let photos = library.photos(Array(identifiers))
        return Dictionary(photos.map { ($0.attributes.identifier, $0) }, uniquingKeysWith: { $1 })
    }

    private func open(_ asset: Asset, among photos: [String: LibraryPhoto]) throws -> OpenedAsset {
        guard let reference = PhotoReference(asset.id), let photo = photos[reference.identifier],
            let resource = photo.resource(of: reference.part)
        else { throw PhotoFailure.missingResource.error(of: asset.id) }
        let bytes = PhotoBytes(
            library: library, reference: reference, kind: resource.kind, allowsNetwork: allowsNetwork)
        return OpenedAsset(.chunks(bytes), stamp: photo.stamp) { [library] in
            library.photos([reference.identifier]).first { $0.resource(of: reference.part) != nil }?.stamp
        }
    }
}
