/// A client that sends HTTP requests: the engine on libcurl, the engine on `URLSession`, or a test double.
///
/// Rules:
///
/// - A reply with an error status is returned like any other reply.
/// - A transport does not retry and does not follow redirects. It decodes a body only if the request accepts gzip.
/// - A cancelled task ends its request within a second.
/// - Errors are ``HTTPError``, except errors thrown by a sink and the error of a build without an engine.
package protocol HTTPTransport: Sendable {
    /// Sends one request and returns when its complete reply has arrived.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Ends all running requests and releases every resource of the transport. Returns when that is done.
    func shutdown() async

    /// The thread of the engine, for tasks that send small requests and do not block. nil without such a thread.
    var executor: (any TaskExecutor)? { get }
}

extension HTTPTransport {
    package var executor: (any TaskExecutor)? { nil }
}
