public import LFSBackup

/// A walk through a photo library, some photos at a time.
public struct PhotoWalk: IteratorProtocol, Sendable {
    /// The number of photos that are looked up together.
    static let pageCount = 100

    private let library: any PhotoLibrary
    private let albums: [String: Set<BackupGroup.ID>]
    private var identifiers: ArraySlice<String>
    /// The items to return next, in reverse order.
    private var found: [AssetItem]

    init(_ library: any PhotoLibrary, selection: PhotoSelection) {
        self.library = library
        albums = selection.albums
        identifiers = selection.identifiers[...]
        found = selection.absent.reversed().map { .unreadable(AssetName($0), "there is no such album") }
    }

    /// Returns the next item, or nil after the last one.
    public mutating func next() -> AssetItem? {
        while found.isEmpty, !identifiers.isEmpty { readPage() }
        return found.popLast()
    }

    /// Looks up the next photos. Those that were deleted since the start of the walk are not items.
    private mutating func readPage() {
        let page = Array(identifiers.prefix(Self.pageCount))
        identifiers = identifiers.dropFirst(page.count)
        let photos = Dictionary(library.photos(page).map { ($0.attributes.identifier, $0) }, uniquingKeysWith: { $1 })
        found = page.compactMap { photos[$0] }.flatMap(items).reversed()
    }

    private func items(_ photo: LibraryPhoto) -> [AssetItem] {
        let identifier = photo.attributes.identifier
        let assets = PhotoPart.allCases.compactMap { photo.asset($0, groups: albums[identifier] ?? []) }
        if assets.isEmpty { return [.unreadable(AssetName(identifier), "Photos has no original of it")] }
        return assets.map { .asset($0) }
    }
}

/// The photos of the selected albums, or of the whole library.
struct PhotoSelection: Sendable {
    /// The photos to walk through, each once.
    private(set) var identifiers: [String] = []
    /// The included albums of each photo.
    private(set) var albums: [String: Set<BackupGroup.ID>] = [:]
    /// The included albums that do not exist.
    private(set) var absent: [BackupGroup.ID] = []

    /// - Parameter groups: the albums. Nil selects all photos.
    /// - Throws: `BackupError.Code.groupAbsent` when an excluded album does not exist.
    init(_ groups: [BackupGroup]?, in library: any PhotoLibrary) throws(BackupError) {
        guard let groups else {
            identifiers = library.identifiers()
            return
        }
        var excluded: Set<String> = []
        for group in groups where group.mode == .exclude {
            guard let members = library.members(ofAlbum: group.id) else { throw Self.absent(group) }
            excluded.formUnion(members)
        }
        for group in groups where group.mode == .include {
            guard let members = library.members(ofAlbum: group.id) else {
                absent.append(group.id)
                continue
            }
            for member in members where !excluded.contains(member) {
                if albums[member, default: []].isEmpty { identifiers.append(member) }
                albums[member, default: []].insert(group.id)
            }
        }
    }

    private static func absent(_ group: BackupGroup) -> BackupError {
        BackupError(
            .groupAbsent,
            message: """
                There is no album \(group.title), which is excluded. An app with limited access sees no albums. Allow \
                full access, or do not exclude the album.
                """,
            asset: AssetName(group.id))
    }
}
