import LFSHTTP

/// Breaks the connection of the requests that it is told to.
struct CuttingTransport: HTTPTransport {
    let base: any HTTPTransport
    let cuts: @Sendable (HTTPRequest) -> Bool

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if cuts(request) { throw HTTPError(.connectionLost, "The connection broke.") }
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }
}
