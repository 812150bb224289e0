import NIOCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A channel handler that closes a connection whose client reads the reply too slowly. It is the first handler of the
/// pipeline, so it counts the bytes that the system has accepted.
///
/// The channel's event loop owns the state.
final class ReplyHandler: ChannelOutboundHandler, RemovableChannelHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Large writes are split into pieces of this size. A write completes when the system has accepted all of it.
    private static let pieceByteCount = 16 << 10

    private var pace: TransferPace
    private var pendingCount = 0
    private var check: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    init(_ limits: ConnectionLimits) { pace = TransferPace(limits) }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        check?.cancel()
        check = nil
        self.context = nil
    }

    /// Closes the connection below TLS, which would wait some seconds for the client's `close_notify`.
    func end() { context?.close(promise: nil) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .byteBuffer(var buffer) = unwrapOutboundIn(data) else {
            return context.write(data, promise: promise)
        }
        while buffer.readableBytes > Self.pieceByteCount, let piece = buffer.readSlice(length: Self.pieceByteCount) {
            write(piece, context: context, promise: nil)
        }
        write(buffer, context: context, promise: promise)
    }

    private func write(_ piece: ByteBuffer, context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
        let count = piece.readableBytes
        if pendingCount == 0 {
            pace.restart()
            pace.setWaiting(true, at: context.eventLoop.now)
        }
        pendingCount += count
        if check == nil { schedule(context) }
        // The caller's promise may belong to another event loop.
        let done = context.eventLoop.makePromise(of: Void.self)
        done.futureResult.cascade(to: promise)
        done.futureResult.assumeIsolated().whenComplete { [self] _ in
            pendingCount -= count
            pace.add(count, at: context.eventLoop.now)
            if pendingCount == 0 { pace.setWaiting(false, at: context.eventLoop.now) }
        }
        context.write(wrapOutboundOut(.byteBuffer(piece)), promise: done)
    }

    private func schedule(_ context: ChannelHandlerContext) {
        guard let deadline = pace.deadline else { return }
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            check = nil
            guard let deadline = pace.deadline else { return }
            if deadline <= context.eventLoop.now { abort(context) } else { schedule(context) }
        }
    }

    /// Closes the connection with a reset. Otherwise, the system would keep the unread bytes for minutes.
    private func abort(_ context: ChannelHandlerContext) {
        if let options = context.channel as? any SocketOptionProvider {
            options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenFailure { _ in }
        }
        context.close(promise: nil)
    }
}
