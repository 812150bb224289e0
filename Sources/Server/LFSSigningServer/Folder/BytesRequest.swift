/// A request to one of the server's own URLs, as the web framework received it.
public struct BytesRequest: Sendable {
    /// The part of the path after `bytes/`, as it was sent.
    public var key: String
    /// The query without its `?`, as it was sent.
    public var query: String
    /// The header fields, with names in lowercase. If a name occurs more than once, the first field is used.
    public var headers: [String: String]

    /// Creates a request from its parts.
    public init(key: String, query: String, headers: [String: String]) {
        self.key = key
        self.query = query
        self.headers = headers
    }
}

/// A reply that the web framework sends.
public struct BytesReply: Sendable {
    /// The content of a reply.
    public enum Body: Sendable {
        /// The complete bytes.
        case whole([UInt8])
        /// The bytes of a file, which are read while they are sent.
        case file(FilePieces)
    }

    /// The status code.
    public var status: Int
    /// The header fields, with names in lowercase.
    public var headers: [String: String]
    /// The content.
    public var body: Body
}
