/// Sends requests. The engine on libcurl is one; `URLSession` on iOS can be another, and tests have their own.
///
/// Rules: a reply with any status is a reply; nothing is retried, redirected or decoded; a cancelled task ends its
/// request within a second; an error is an ``HTTPError``, unless a sink threw it or there is no engine at all.
package protocol HTTPTransport: Sendable {
    /// Sends one request and returns when its reply has come in whole.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Ends what is under way and gives everything back that the transport holds; returns when that is done.
    func shutdown() async
}
