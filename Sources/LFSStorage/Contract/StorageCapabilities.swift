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
    /// Where it keeps its objects, the same for every process and device that means the same place:
    /// `s3:host/bucket/prefix`. nil for a storage that nothing outlasts, or that does not tell.
    ///
    /// What an unfinished upload has left at one place is of no use at another. It must not hold a secret.
    public var location: String?
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
    ///   - location: see ``location``.
    ///   - proof: what the storage's own word on an upload is worth.
    ///   - listsObjects: whether ``RemoteStorage/list(_:)`` works.
    ///   - maximumByteCount: the largest object in bytes; nil when it names no limit.
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
