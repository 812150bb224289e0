/// One request.
package struct HTTPRequest: Sendable {
    /// What is asked for (RFC 9110, 9; others are WebDAV's, RFC 4918).
    package struct Method: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        /// - Parameter rawValue: capital letters.
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let get = Method(rawValue: "GET")
        package static let head = Method(rawValue: "HEAD")
        package static let put = Method(rawValue: "PUT")
        package static let post = Method(rawValue: "POST")
        package static let delete = Method(rawValue: "DELETE")
    }

    package var method: Method
    package var origin: HTTPOrigin
    /// Path and query as they go out: percent-encoded, beginning with a slash. Nothing changes them on the way.
    package var target: String
    package var headers: HTTPHeaders
    package var body: RequestBody
    package var reply: ResponseBody
    /// Whether to wait a moment for the server's consent before the body is sent (`Expect: 100-continue`).
    package var expectsContinue = false
    /// Whether the reply may come as gzip: what takes it gets it as it was before, limits count those bytes, and the
    /// length that the head tells is none of the body's. Apple's engine asks for it in any case.
    package var acceptsGzip = false
    /// How long the transfer may stand still; nil for the engine's own limit.
    package var stallTimeout: Duration?
    /// Whether the reply is a stream that may be quiet for long. It has no least rate then.
    package var isLive = false
    /// Takes the number of the body's bytes that have gone out. Called on the engine's thread, so it must return at
    /// once.
    package var onProgress: (@Sendable (Int64) -> Void)?

    package init(
        _ method: Method, _ origin: HTTPOrigin, _ target: String, headers: HTTPHeaders = [:],
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
