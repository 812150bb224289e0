/// The capabilities of a remote storage. Decorators pass them on or restrict them.
public struct StorageCapabilities: Hashable, Sendable {
    /// The evidence that a storage gives for the bytes that it has received.
    public enum Proof: Hashable, Sendable {
        /// The storage computes or verifies a checksum of the content.
        case checksum
        /// The storage can only report the number of bytes.
        case byteCount
    }

    /// The kind of storage, for logs and metrics: `directory`, `s3`.
    public var kind: String
    /// The place of the objects, such as `s3:host/bucket/prefix`. It is equal for all processes and devices that use
    /// the same place. Nil for a storage whose contents do not outlive the process, or that does not report its place.
    ///
    /// The leftovers of an unfinished upload at one place are useless at another. The text must not contain a secret.
    public var location: String?
    /// The evidence for an upload.
    public var proof: Proof
    /// True if the storage lists its objects (``RemoteStorage/list(_:)``). If it does not, a verification requests each
    /// object separately, and cannot find objects without a row.
    public var listsObjects: Bool
    /// The size of the largest possible object in bytes, or nil without a known limit.
    public var maximumByteCount: Int64?

    /// Creates the capabilities of a storage. The conformance suite of `LFSTesting` verifies ``Proof/checksum``.
    ///
    /// - Parameters:
    ///   - kind: a short lowercase word for logs and metrics, such as `directory`.
    ///   - location: see ``location``.
    ///   - proof: the evidence that the storage gives for an upload.
    ///   - listsObjects: true if ``RemoteStorage/list(_:)`` works.
    ///   - maximumByteCount: the size of the largest possible object in bytes, or nil without a known limit.
    public init(
        kind: String, location: String? = nil, proof: Proof, listsObjects: Bool = true, maximumByteCount: Int64? = nil
    ) {
        self.kind = kind
        self.location = location
        self.proof = proof
        self.listsObjects = listsObjects
        self.maximumByteCount = maximumByteCount
    }
}
