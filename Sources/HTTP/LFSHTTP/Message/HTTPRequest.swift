/// An HTTP request.
package struct HTTPRequest: Sendable {
    /// The method of a request (RFC 9110, section 9). WebDAV adds others (RFC 4918).
    package struct Method: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        /// - Parameter rawValue: the name in capital letters.
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let get = Method(rawValue: "GET")
        package static let head = Method(rawValue: "HEAD")
        package static let put = Method(rawValue: "PUT")
        package static let post = Method(rawValue: "POST")
        package static let delete = Method(rawValue: "DELETE")
    }

    package var method: Method
    package var origin: HTTPOrigin
    /// The percent-encoded path and query, beginning with a slash. They are sent unchanged.
    package var target: String
    package var headers: HTTPHeaders
    package var body: RequestBody
    package var reply: ResponseBody
    /// If true, the engine waits a moment for the server's `100 Continue` before it sends the body (`Expect:
    /// 100-continue`).
    package var expectsContinue = false
    /// If true, the server may compress the reply with gzip.
    ///
    /// The reply's receiver gets the decompressed bytes, and limits count the decompressed bytes. The announced length
    /// is then not the length of the body. Apple's engine requests gzip in any case.
    package var acceptsGzip = false
    /// The time after which a transfer without progress fails. nil uses the engine's limit.
    package var stallTimeout: Duration?
    /// True for a reply that is a stream with possibly long silences. It has no minimum rate.
    package var isLive = false
    /// Receives the number of body bytes that have been sent. The engine calls it on its own thread, so it must return
    /// at once.
    package var onProgress: (@Sendable (Int64) -> Void)?

    package init(
        _ method: Method, origin: HTTPOrigin, target: String, headers: HTTPHeaders = [:],
        body: RequestBody = .none, reply: ResponseBody = .bytes()
    ) {
        self.method = method
        self.origin = origin
        self.target = target
        self.headers = headers
        self.body = body
        self.reply = reply
    }
}
