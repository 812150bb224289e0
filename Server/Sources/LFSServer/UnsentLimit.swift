public import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Keeps the system from taking more of a reply than the network is about to carry (`TCP_NOTSENT_LOWAT`, 64 KiB). What
/// is on its way at a time is as before, so that nobody waits longer.
///
/// Without it the system takes megabytes for each device that reads slowly: rows that are all read, and that nobody can
/// have yet. It is for the handlers of a server's connections:
///
/// ```swift
/// let server = HTTPServerBuilder.http1(configuration: .init(additionalChannelHandlers: [UnsentLimit()]))
/// ```
public final class UnsentLimit: ChannelInboundHandler, RemovableChannelHandler {
    /// What comes in passes.
    public typealias InboundIn = Any

    private static let byteCount = 64 << 10

    /// One for each connection.
    public init() {}

    public func handlerAdded(context: ChannelHandlerContext) {
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
        // A system that does not know it takes what it takes.
        context.channel.setOption(option, value: Self.byteCount).whenFailure { _ in }
    }
}
