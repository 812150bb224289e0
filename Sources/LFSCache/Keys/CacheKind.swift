/// A kind of content, with limits of its own: what fills one kind evicts nothing of another.
public struct CacheKind: Hashable, Sendable, CustomStringConvertible {
    /// The name, by which entries are kept. Another name is another kind.
    public let name: String

    /// A kind of the app's own.
    ///
    /// - Parameter name: any text; it never becomes a path.
    public init(_ name: String) { self.name = name.canonical }

    /// Small pictures for a grid: 10,000 entries unless ``CacheOptions/limits`` says otherwise.
    public static let thumbnails = CacheKind("thumbnails")
    /// Pictures for the screen: 350 entries.
    public static let previews = CacheKind("previews")
    /// Pictures of albums: 200 entries.
    public static let albumCovers = CacheKind("albumCovers")

    /// The name.
    public var description: String { name }
}
