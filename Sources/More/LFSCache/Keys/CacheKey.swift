import Foundation

/// The key of an entry: a kind, and a name within that kind.
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
    /// The kind, whose limits apply to the entry.
    public let kind: CacheKind
    /// The name within the kind. Include everything that changes the content, such as a size.
    public let name: String

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - kind: the kind, whose limits apply to the entry.
    ///   - name: any text. It never becomes a path. Names that are equal as Swift strings are the same name.
    public init(_ kind: CacheKind, name: String) {
        self.kind = kind
        self.name = name.canonical
    }

    /// The kind and the name.
    public var description: String { "\(kind.name)/\(name)" }
}

extension String {
    /// The canonical form. Equal strings get the same bytes, because the database compares bytes.
    var canonical: String {
        utf8.allSatisfy { $0 < 0x80 } ? self : precomposedStringWithCanonicalMapping
    }
}
