/// The position of the bucket's name in the URL of a request.
public enum S3Addressing: String, Hashable, Sendable, CaseIterable {
    /// The host or the path, as the known provider of the endpoint prefers. Buckets with a dot in their name use the
    /// path.
    case automatic
    /// The path: `https://host/bucket/key`.
    case path
    /// The host: `https://bucket.host/key`.
    case virtual
}
