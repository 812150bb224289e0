public import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A channel handler that limits the unsent data in the kernel's send buffer to 64 KiB (`TCP_NOTSENT_LOWAT`). The data
/// in flight is not limited, so the throughput does not change.
///
/// Without the limit, the kernel buffers megabytes for each slow device. The server would read those rows long before
/// the device can receive them. Add the handler to the connections of a server:
///
/// ```swift
/// let server = HTTPServerBuilder.http1(configuration: .init(additionalChannelHandlers: [UnsentLimit()]))
/// ```
public final class UnsentLimit: ChannelInboundHandler, RemovableChannelHandler {
    /// The type of the inbound data, which the handler passes on.
    public typealias InboundIn = Any

    private static let byteCount = 64 << 10

    /// Creates the handler of one connection.
    public init() {}

    public func handlerAdded(context: ChannelHandlerContext) {
        let option = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
        // A system without this option keeps its default.
        context.channel.setOption(option, value: Self.byteCount).whenFailure { _ in }
    }
}
