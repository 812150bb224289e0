import NIOCore

/// Reads at most 16 KiB of a connection at a time.
///
/// A request that is not taken as fast as it comes waits in several such pieces, and a hundred pictures that come at
/// once are a hundred requests: in pieces of 64 KiB, which is the default, they take 60 MiB.
final class SmallReads: ChannelInboundHandler, RemovableChannelHandler {
    /// What comes in passes.
    typealias InboundIn = Any

    private static let byteCount = 16 << 10

    func handlerAdded(context: ChannelHandlerContext) {
        let buffers = AdaptiveRecvByteBufferAllocator(minimum: 1_024, initial: 2_048, maximum: Self.byteCount)
        // A channel that reads in another way does as it does.
        context.channel.setOption(.recvAllocator, value: buffers).whenFailure { _ in }
    }
}
