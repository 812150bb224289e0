import LFSSystem

/// The name of an object in a remote storage: `<namespace>/<file id>`.
///
/// Keys are made by this package, never from a file's name: segments of `a-z 0-9 . _ -` with `/` between them,
/// at most 512 bytes, no segment starting with a dot. Such a key means the same to every storage and needs no escaping.
public struct ObjectKey: Hashable, Sendable, CustomStringConvertible {
    /// The key as a storage sees it.
    public let rawValue: String

    /// - Throws: ``StorageError/Code/invalidKey`` when the text breaks the rules above.
    public init(_ rawValue: String) throws(StorageError) {
        guard Self.isValid(rawValue) else {
            throw StorageError(
                .invalidKey,
                """
                '\(rawValue.prefix(80))' is not an object key: use segments of a-z, 0-9, '.', '_' and '-' with '/' \
                between them.
                """
            )
        }
        self.rawValue = rawValue
    }

    /// The key that a listed name stands for, nil for a name that cannot be one.
    package init?(listed name: String) {
        guard Self.isValid(name) else { return nil }
        rawValue = name
    }

    /// The key itself.
    public var description: String { rawValue }

    private static func isValid(_ text: String) -> Bool {
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 512
            && segments.allSatisfy { segment in
                !segment.isEmpty && segment.first != UInt8(ascii: ".") && segment.allSatisfy(isAllowed)
            }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isLowercaseLetter || byte.isDigit || "._-".utf8.contains(byte)
    }
}
