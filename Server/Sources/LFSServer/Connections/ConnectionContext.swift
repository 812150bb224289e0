public import Hummingbird
public import NIOCore

/// A request context with access to its connection.
public protocol ConnectionContext: RequestContext {
    /// The connection. It accepts parts of replies as types of swift-http-types, as Hummingbird's channels do.
    var channel: any Channel { get }
}

/// The context of the routes: Hummingbird's own context with the connection and the record for the log.
public struct ServerContext: ConnectionContext, RecordedContext {
    /// The storage of Hummingbird's own context.
    public var coreContext: CoreRequestContextStorage
    /// The connection of the request.
    public let channel: any Channel
    /// The record of the request for the log.
    public let record = RequestRecord()

    /// Creates the context of a request. Hummingbird calls it.
    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
