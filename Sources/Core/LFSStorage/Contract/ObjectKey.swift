import LFSSystem

/// The name of an object in a remote storage: `<namespace>/<file id>`.
///
/// This package creates all keys, and never from a file's name. A key consists of segments of `a-z 0-9 . _ -` with `/`
/// between them. It has at most 512 bytes, and no segment starts with a dot. Such a key has the same meaning in every
/// storage and needs no escaping.
public struct ObjectKey: Hashable, Sendable, CustomStringConvertible {
    /// The text of the key.
    public let rawValue: String

    /// Creates a key from its text.
    ///
    /// - Throws: ``StorageError/Code/invalidKey`` if the text breaks the rules of keys.
    public init(_ rawValue: String) throws(StorageError) {
        guard Self.isValid(rawValue) else {
            throw StorageError(
                .invalidKey,
                message: """
                    '\(rawValue.prefix(80))' is not an object key: use segments of a-z, 0-9, '.', '_' and '-' with '/' \
                    between them.
                    """
            )
        }
        self.rawValue = rawValue
    }

    /// Creates a key from a listed name, or nil if the name is not a valid key.
    package init?(listed name: String) {
        guard Self.isValid(name) else { return nil }
        rawValue = name
    }

    /// The text of the key.
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
