import Foundation

/// What an entry was made from, so that a change of that takes away all that was made from it.
public struct CacheTag: Hashable, Sendable, CustomStringConvertible {
    /// The kind of thing and its id, as they are kept.
    let text: String

    private init(text: String) { self.text = text.canonical }

    /// A tag as it was written; nil when it is none.
    init?(stored bytes: Data) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self.text = text
    }

    /// Made from a photo, a video or any other single thing of the app.
    ///
    /// - Parameter id: its id in the app.
    public static func asset(_ id: String) -> CacheTag { CacheTag(text: "asset:" + id) }

    /// Made from an album or any other group.
    ///
    /// - Parameter id: its id in the app.
    public static func album(_ id: String) -> CacheTag { CacheTag(text: "album:" + id) }

    /// The kind of thing and its id, such as `asset:17`.
    public var description: String { text }
}
