/// A request to one of the server's own URLs, as the web framework has it.
public struct BytesRequest: Sendable {
    /// What stands in the path behind `bytes/`, as it was sent.
    public var key: String
    /// The query without its `?`, as it was sent.
    public var query: String
    /// The names in lowercase. Of several fields of one name the first.
    public var headers: [String: String]

    /// A request by its parts.
    public init(key: String, query: String, headers: [String: String]) {
        self.key = key
        self.query = query
        self.headers = headers
    }
}

/// What a web framework sends back.
public struct BytesReply: Sendable {
    /// What comes as the body.
    public enum Body: Sendable {
        /// All of it.
        case whole([UInt8])
        /// Bytes of a file, read while they are sent.
        case file(FilePieces)
    }

    /// The status code.
    public var status: Int
    /// Names in lowercase, and their values.
    public var headers: [String: String]
    /// The body.
    public var body: Body
}
