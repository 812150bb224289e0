import LFSCache

/// How large a picture is shown, when it is not shown as it is.
enum SmallSize: CaseIterable, Sendable {
    /// For the tiles of a page.
    case thumbnail
    /// For a page with this picture alone.
    case preview

    /// The longer edge, in pixels.
    var edge: Int {
        switch self {
        case .thumbnail: 320
        case .preview: 1_440
        }
    }

    var kind: CacheKind {
        switch self {
        case .thumbnail: .thumbnails
        case .preview: .previews
        }
    }
}
