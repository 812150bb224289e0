import NIOCore

/// A channel handler that limits each read of a connection to 16 KiB.
///
/// A request whose bytes arrive faster than they are processed waits in several such buffers, and a hundred pictures
/// sent at the same time are a hundred requests: with buffers of 64 KiB, which is the default, they take 60 MiB.
final class SmallReads: ChannelInboundHandler, RemovableChannelHandler {
    /// Incoming data is passed on unchanged.
    typealias InboundIn = Any

    private static let byteCount = 16 << 10

    func handlerAdded(context: ChannelHandlerContext) {
        let buffers = AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 2_048, maximum: Self.byteCount)
        // A channel without this option keeps its own way of reading.
        context.channel.setOption(.recvAllocator, value: buffers).whenFailure { _ in }
    }
}
