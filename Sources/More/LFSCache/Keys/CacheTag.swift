import Foundation

/// The source of an entry. When the source changes, all entries that were derived from it can be removed together.
public struct CacheTag: Hashable, Sendable, CustomStringConvertible {
    /// The type of the source and its id, as they are stored.
    let text: String

    private init(text: String) { self.text = text.canonical }

    /// Creates a tag from its stored bytes. Nil if they are not valid UTF-8.
    init?(stored bytes: Data) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.text = text
    }

    /// Returns the tag of a photo, a video or any other single item of the app.
    ///
    /// - Parameter id: its id in the app.
    public static func asset(_ id: String) -> CacheTag { CacheTag(text: "asset:" + id) }

    /// Returns the tag of an album or any other group.
    ///
    /// - Parameter id: its id in the app.
    public static func album(_ id: String) -> CacheTag { CacheTag(text: "album:" + id) }

    /// The type of the source and its id, such as `asset:17`.
    public var description: String { text }
}
