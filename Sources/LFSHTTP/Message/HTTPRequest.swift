/// One request.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case head = "HEAD"
        case put = "PUT"
        case post = "POST"
        case delete = "DELETE"
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
    /// How long the transfer may stand still; nil for the engine's own limit.
    package var stallTimeout: Duration?
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
