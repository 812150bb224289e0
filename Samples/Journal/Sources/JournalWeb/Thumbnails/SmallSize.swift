import LFSCache

/// The sizes of thumbnails and previews.
enum SmallSize: String, CaseIterable, Sendable {
    /// The size for the tiles of a page.
    case thumbnail
    /// The same on screens with two pixels for each unit.
    case tile
    /// The size for the link to an album.
    case cover
    /// The size for a page with only this picture.
    case preview

    /// The longer edge in pixels.
    var edge: Int {
        switch self {
        case .thumbnail: 320
        case .cover: 96
        case .tile: 640
        case .preview: 1_440
        }
    }

    var kind: CacheKind {
        switch self {
        case .thumbnail, .tile: .thumbnails
        case .cover: .albumCovers
        case .preview: .previews
        }
    }
}
