public import Foundation

/// What a storage says of one object.
public struct RemoteObject: Hashable, Sendable {
    /// The key of the object.
    public var key: ObjectKey
    /// The object's size as the storage has it.
    public var byteCount: Int64
    /// SHA-256 of the content in lowercase hex, if the storage computed or checked it itself, or any other checksum of
    /// the same bytes. What an uploader noted beside the object is no such word.
    public var sha256: String?
    /// The storage's own name for this version of the content.
    public var entityTag: String?
    /// Where the object is, without a query and without a secret.
    public var url: URL

    /// What the storage's own word on the content is worth: ``StorageCapabilities/Proof/checksum`` with a ``sha256``,
    /// else only its size is known.
    public var proof: StorageCapabilities.Proof { sha256 == nil ? .byteCount : .checksum }

    /// What the storage has answered about one object.
    ///
    /// - Parameters:
    ///   - key: the key that it was asked for.
    ///   - byteCount: the size that it told.
    ///   - sha256: in lowercase hex, only if the storage's own word vouches for it; nil otherwise.
    ///   - entityTag: the same text for the same content, to be compared only; nil when the storage has none.
    ///   - url: without query and secret, since it is kept in the app's database.
    public init(key: ObjectKey, byteCount: Int64, sha256: String? = nil, entityTag: String? = nil, url: URL) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.entityTag = entityTag
        self.url = url
    }
}
