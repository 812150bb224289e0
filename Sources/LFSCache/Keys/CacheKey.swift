import Foundation

/// What an entry is found by: a kind, and a name within it.
public struct CacheKey: Hashable, Sendable, CustomStringConvertible {
    /// The kind, whose limits count for the entry.
    public let kind: CacheKind
    /// The name within the kind. Put into it whatever changes the content, such as a size.
    public let name: String

    /// A key.
    ///
    /// - Parameters:
    ///   - kind: the kind, whose limits count for the entry.
    ///   - name: any text; it never becomes a path. Names that are equal as Swift's strings are one name.
    public init(_ kind: CacheKind, _ name: String) {
        self.kind = kind
        self.name = name.canonical
    }

    /// The kind and the name.
    public var description: String { "\(kind.name)/\(name)" }
}

extension String {
    /// The same bytes for strings that are equal, since the database compares bytes.
    var canonical: String {
        utf8.allSatisfy { $0 < 0x80 } ? self : precomposedStringWithCanonicalMapping
    }
}
