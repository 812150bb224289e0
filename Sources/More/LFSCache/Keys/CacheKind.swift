/// A kind of content with its own limits. Entries of one kind never evict entries of another.
public struct CacheKind: Hashable, Sendable, CustomStringConvertible {
    /// The name, which is stored with the entries. A kind with another name is another kind.
    public let name: String

    /// Creates a kind for the app.
    ///
    /// - Parameter name: any text. It never becomes a path.
    public init(_ name: String) { self.name = name.canonical }

    /// Small pictures for a grid. ``CacheOptions/limits`` allows 10,000 entries by default.
    public static let thumbnails = CacheKind("thumbnails")
    /// Pictures for the screen. ``CacheOptions/limits`` allows 350 entries by default.
    public static let previews = CacheKind("previews")
    /// Cover pictures of albums. ``CacheOptions/limits`` allows 200 entries by default.
    public static let albumCovers = CacheKind("albumCovers")

    /// The same text as ``name``.
    public var description: String { name }
}
