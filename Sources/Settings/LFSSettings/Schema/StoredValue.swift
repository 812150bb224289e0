package import Foundation

/// A serialized value: the bytes, and the serializer that made them.
package struct SerializedValue: Sendable, Hashable {
    /// The id of the serializer.
    package let serializer: String
    package let version: Int
    package let bytes: Data

    package init(serializer: String, version: Int, bytes: Data) {
        self.serializer = serializer
        self.version = version
        self.bytes = bytes
    }
}

/// The content that a store keeps for a key: the serialized value or an envelope around it, and the time of the write.
package struct StoredValue: Sendable, Hashable {
    package let content: SerializedValue
    /// Milliseconds since 1970.
    package let updatedAt: Int64

    package init(_ content: SerializedValue, updatedAt: Int64) {
        self.content = content
        self.updatedAt = updatedAt
    }

    /// Returns the same value with other bytes, to put the content into an envelope or to take it out.
    func with(bytes: Data) -> StoredValue {
        StoredValue(
            SerializedValue(serializer: content.serializer, version: content.version, bytes: bytes),
            updatedAt: updatedAt)
    }
}

/// The result of a change of a stored value.
package enum StoredChange: Sendable {
    case keep
    case put(StoredValue)
    case remove
}
