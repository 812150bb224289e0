import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// A channel handler that closes a connection whose client sends a body too slowly, or continues to send it after the
/// reply. It also counts the connection and adds a ``ReplyHandler``.
///
/// The channel's event loop owns the state.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let connections: Connections
    private var limits: ConnectionLimits { connections.limits }
    private var requestCount = 0
    private var replyCount = 0
    /// True while the last request is incomplete.
    private var isReceiving = false
    /// True while the client waits for "100 Continue" before it sends the body.
    private var isHeld = false
    /// True while the server has requested bytes that have not arrived.
    private var isReading = false
    /// The number of announced bytes of the body that have not arrived, or nil without a `Content-Length`.
    private var announced: Int64?
    /// The number of bytes of the body that arrived after the reply, or nil before the end of the reply.
    private var droppedCount: Int?
    private var closesAfterReply = false
    private var pace: TransferPace
    private var check: Scheduled<Void>?
    private var end: Scheduled<Void>?
    private let reply: ReplyHandler
    /// The action to run if the client leaves during the reply.
    private var departure: ClientDeparture?
    private var hasLeft = false

    init(_ connections: Connections) {
        self.connections = connections
        pace = TransferPace(connections.limits)
        reply = ReplyHandler(connections.limits)
    }

    // MARK: Connection

    func handlerAdded(context: ChannelHandlerContext) {
        do {
            try context.pipeline.syncOperations.addHandler(reply, position: .first)
        } catch {
            context.close(promise: nil)
        }
        if context.channel.isActive { admit(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        admit(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        leave()
        stop(context)
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { leave() }
        context.fireUserInboundEventTriggered(event)
    }

    private func leave() {
        hasLeft = true
        departure?.action()
        departure = nil
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop(context) }

    private func admit(_ context: ChannelHandlerContext) {
        if !connections.admit(context.channel) { context.close(promise: nil) }
    }

    private func stop(_ context: ChannelHandlerContext) {
        check?.cancel()
        end?.cancel()
        check = nil
        end = nil
        connections.remove(context.channel)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let event = event as? ClientDeparture {
            departure = event
            if hasLeft { leave() }
            promise?.succeed()
            return
        }
        guard let account = event as? ConnectionAccount else {
            return context.triggerUserOutboundEvent(event, promise: promise)
        }
        guard connections.assign(context.channel, to: account.name) else {
            closesAfterReply = true
            promise?.fail(TooManyConnections())
            return
        }
        promise?.succeed()
    }

    // MARK: Requests

    func read(context: ChannelHandlerContext) {
        isReading = true
        update(context)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            requestCount += 1
            isReceiving = true
            announced = head.headerFields[.contentLength].flatMap { Int64($0) }
            isHeld = head.headerFields[.expect]?.lowercased() == "100-continue"
            pace.restart()
        case .body(let bytes):
            // A client may send the body before it receives "100 Continue".
            isHeld = false
            pace.add(bytes.readableBytes, at: context.eventLoop.now)
            announced? -= Int64(bytes.readableBytes)
            if let count = droppedCount {
                droppedCount = count + bytes.readableBytes
                if count + bytes.readableBytes > limits.unreadByteCount { reply.end() }
            }
        case .end:
            isReceiving = false
            if !closesAfterReply {
                droppedCount = nil
                end?.cancel()
                end = nil
            }
        }
        update(context)
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        isReading = false
        update(context)
        context.fireChannelReadComplete()
    }

    /// Starts or stops the time limit. The time runs while the server waits for the body. It does not run while the
    /// server holds bytes that no route has read yet.
    private func update(_ context: ChannelHandlerContext) {
        let isWaiting = isReceiving && !isHeld && isReading && droppedCount == nil
        pace.setWaiting(isWaiting, at: context.eventLoop.now)
        if isWaiting, check == nil { schedule(context) }
    }

    private func schedule(_ context: ChannelHandlerContext) {
        guard let deadline = pace.deadline else { return }
        check = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            check = nil
            guard let deadline = pace.deadline else { return }
            if deadline <= context.eventLoop.now { reply.end() } else { schedule(context) }
        }
    }

    // MARK: Replies

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head):
            if head.status.kind == .informational {
                isHeld = false
                update(context)
                return context.write(data, promise: promise)
            }
            if closesAfterReply || !isReadToItsEnd { head.headerFields[.connection] = "close" }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end:
            replyCount += 1
            departure = nil
            context.write(data, promise: promise)
            if closesAfterReply || (isReceiving && replyCount == requestCount) { drop(context) }
        }
    }

    /// True if the server would read the rest of the body after a reply at this moment.
    private var isReadToItsEnd: Bool {
        guard isReceiving, replyCount + 1 == requestCount else { return true }
        return !isHeld && (announced ?? 0) <= Int64(limits.unreadByteCount)
    }

    /// Reads and discards the rest of the body. The client may not have received the reply yet, and closing at once
    /// could discard the reply.
    private func drop(_ context: ChannelHandlerContext) {
        droppedCount = 0
        update(context)
        guard end == nil else { return }
        end = context.eventLoop.assumeIsolated().scheduleTask(in: limits.unreadTime) { [reply] in reply.end() }
    }
}
