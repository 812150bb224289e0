import HTTPTypes
public import Hummingbird
public import NIOCore
import NIOHTTPTypes

/// Answers `Expect: 100-continue` (RFC 9110, 10.1.1) once the body is wanted, for a client that waits with it.
///
/// Without that answer libcurl waits a second before each body. A request that is refused by its head gets the refusal
/// alone, and its body is not sent. It has to be the last middleware that looks at the body's beginning.
public struct ContinueMiddleware<Context: ConnectionContext>: RouterMiddleware {
    /// The same for every server.
    public init() {}

    /// Passes the request on with a body whose first reading tells the client to send it.
    ///
    /// - Throws: what the routes throw.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard request.headers[.expect]?.lowercased() == "100-continue" else { return try await next(request, context) }
        var request = request
        request.body = RequestBody(asyncSequence: AwaitedBody(base: request.body, channel: context.channel))
        return try await next(request, context)
    }
}

/// A context that knows its connection.
public protocol ConnectionContext: RequestContext {
    /// Takes parts of replies in the form of swift-http-types, as Hummingbird's channels do.
    var channel: any Channel { get }
}

/// What the routes know of a request: Hummingbird's own, and the connection.
public struct ServerContext: ConnectionContext {
    public var coreContext: CoreRequestContextStorage
    public let channel: any Channel

    /// Hummingbird makes one for each request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}

/// A body that the client sends when it is told to.
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
