/// What a remote storage can do, as a value that wrappers pass on or narrow.
public struct StorageCapabilities: Hashable, Sendable {
    /// How the storage proves that it has what was sent.
    public enum Proof: Hashable, Sendable {
        /// It computes or checks a checksum of the content.
        case checksum
        /// It can only tell how many bytes it has.
        case byteCount
    }

    /// The kind of storage, for logs and metrics: `directory`, `s3`.
    public var kind: String
    /// How an upload is proven.
    public var proof: Proof
    /// Whether it lists its objects (``RemoteStorage/list(_:)``). Where it does not, a verification asks for each
    /// object by itself, and finds none that no row knows.
    public var listsObjects: Bool
    /// The largest object it takes, in bytes; nil when it names no limit.
    public var maximumByteCount: Int64?

    /// What a storage promises. The conformance suite of `LFSTesting` holds it to ``Proof/checksum``.
    ///
    /// - Parameters:
    ///   - kind: a short lowercase word for logs and metrics, such as `directory`.
    ///   - proof: what the storage's own word on an upload is worth.
    ///   - listsObjects: whether ``RemoteStorage/list(_:)`` works.
    ///   - maximumByteCount: the largest object in bytes; nil when it names no limit.
    public init(kind: String, proof: Proof, listsObjects: Bool = true, maximumByteCount: Int64? = nil) {
        self.kind = kind
        self.proof = proof
        self.listsObjects = listsObjects
        self.maximumByteCount = maximumByteCount
    }
}
