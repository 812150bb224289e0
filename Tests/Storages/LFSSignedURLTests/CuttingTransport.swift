import LFSHTTP

/// A transport that breaks the connection of chosen requests.
struct CuttingTransport: HTTPTransport {
    let base: any HTTPTransport
    let cuts: @Sendable (HTTPRequest) -> Bool

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if cuts(request) { throw HTTPError(.connectionLost, message: "The connection broke.") }
        return try await base.send(request)
    }

    func shutdown() async { await base.shutdown() }
}
