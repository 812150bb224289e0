public import Foundation

/// The facts about an object as reported by its storage.
public struct RemoteObject: Hashable, Sendable {
    /// The key of the object.
    public var key: ObjectKey
    /// The size of the object in bytes, as reported by the storage.
    public var byteCount: Int64
    /// SHA-256 of the content in lowercase hex, if the storage has computed or verified it, or has verified another
    /// checksum of the same bytes. A checksum that an uploader has stored as metadata does not count.
    public var sha256: String?
    /// The storage's identifier for this version of the content.
    public var entityTag: String?
    /// The location of the object, without a query and without a secret.
    public var url: URL

    /// The evidence for the content: ``StorageCapabilities/Proof/checksum`` with a ``sha256``, otherwise only the size.
    package var proof: StorageCapabilities.Proof { sha256 == nil ? .byteCount : .checksum }

    /// Creates the description of an object from a storage's answer.
    ///
    /// - Parameters:
    ///   - key: the requested key.
    ///   - byteCount: the reported size in bytes.
    ///   - sha256: in lowercase hex, only if the storage itself confirms it, otherwise nil.
    ///   - entityTag: a text that is equal for equal content and is only compared, or nil if the storage has none.
    ///   - url: without a query or a secret, because the app's database stores it.
    public init(key: ObjectKey, byteCount: Int64, sha256: String? = nil, entityTag: String? = nil, url: URL) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.entityTag = entityTag
        self.url = url
    }
}
