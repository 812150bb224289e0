import Foundation

/// A serialized value: the bytes, and the serializer that made them.
struct SerializedValue: Sendable, Hashable {
    /// The id of the serializer.
    let serializer: String
    let version: Int
    let bytes: Data
}

/// The content that a store keeps for a key: the serialized value or an envelope around it, and the time of the write.
struct StoredValue: Sendable, Hashable {
    let content: SerializedValue
    /// Milliseconds since 1970.
    let updatedAt: Int64

    init(_ content: SerializedValue, updatedAt: Int64) {
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
enum StoredChange: Sendable {
    case keep
    case put(StoredValue)
    case remove
}
