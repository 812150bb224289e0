import HTTPTypes
public import Hummingbird
import NIOCore
import NIOHTTPTypes

/// A middleware that answers `Expect: 100-continue` (RFC 9110, section 10.1.1) when a route starts to read the body.
///
/// Without that answer, libcurl waits a second before each body. If a route refuses a request because of its head, the
/// client receives only the refusal and does not send the body. Add every middleware that reads the body after this
/// one.
public struct ContinueMiddleware<Context: ConnectionContext>: RouterMiddleware {
    /// Creates the middleware. It has no options.
    public init() {}

    /// Passes the request on with a body whose first read asks the client to send it.
    ///
    /// - Throws: the errors of the routes.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return try await next(request, context) }
        var request = request
        request.body = RequestBody(asyncSequence: AwaitedBody(base: request.body, channel: context.channel))
        return try await next(request, context)
    }
}

/// A body that the client sends only after the 100 response.
private struct AwaitedBody: AsyncSequence, Sendable {
    let base: RequestBody
    let channel: any Channel

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator(), channel: channel) }

    struct Iterator: AsyncIteratorProtocol {
        var base: RequestBody.AsyncIterator
        let channel: any Channel
        private var isAwaited = true

        init(base: RequestBody.AsyncIterator, channel: any Channel) {
            self.base = base
            self.channel = channel
        }

        @concurrent mutating func next() async throws -> ByteBuffer? {
            if isAwaited {
                isAwaited = false
                try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue))).get()
            }
            return try await base.next()
        }
    }
}
