/// Where the bucket's name stands in a request's URL.
public enum S3Addressing: String, Hashable, Sendable, CaseIterable {
    /// In the host for Amazon's own endpoints, in the path for all others.
    case automatic
    /// `https://host/bucket/key`.
    case path
    /// `https://bucket.host/key`.
    case virtual
}
