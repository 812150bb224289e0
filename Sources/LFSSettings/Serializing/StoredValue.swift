package import Foundation

/// What a serializer makes of a value: bytes, and which serializer has made them.
package struct SerializedValue: Sendable, Hashable {
    /// The id of the serializer.
    package let serializer: String
    package let version: Int
    package let bytes: Data

    package init(serializer: String, version: Int, bytes: Data) {
        (self.serializer, self.version, self.bytes) = (serializer, version, bytes)
    }
}

/// What a store keeps of a key: the serialized value, or an envelope around it, and when it was written.
package struct StoredValue: Sendable, Hashable {
    package let content: SerializedValue
    /// Milliseconds since 1970.
    package let updatedAt: Int64

    package init(_ content: SerializedValue, updatedAt: Int64) {
        (self.content, self.updatedAt) = (content, updatedAt)
    }

    /// The same with other bytes: those of an envelope in place of the ones in it, or the other way round.
    func with(bytes: Data) -> StoredValue {
        StoredValue(
            SerializedValue(serializer: content.serializer, version: content.version, bytes: bytes),
            updatedAt: updatedAt)
    }
}

/// What becomes of a stored value.
package enum StoredChange: Sendable {
    case keep
    case put(StoredValue)
    case remove
}
