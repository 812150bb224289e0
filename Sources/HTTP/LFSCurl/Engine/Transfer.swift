import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

/// A running request and the received part of its reply.
///
/// It is unchecked because only the engine's thread uses its plain properties, from ``Inbox/submit(_:)`` on. The task
/// that created it uses only the phase and the outcome.
final class Transfer: @unchecked Sendable {
    private enum Phase { case new, submitting, submitted, cancelled }

    let request: HTTPRequest
    private let phase = Mutex(Phase.new)
    private let outcome = Waiter<Result<HTTPResponse, any Error>>()

    // Only the engine's thread uses these properties.
    var handle: EasyHandle?
    var queue: OriginQueue?
    var head: HTTPResponseHead?
    /// The reader of the reply's head, which arrives line by line.
    private var lines = HeadReader()
    private var body: [UInt8] = []
    private(set) var relay: ReplyRelay?
    /// The sink of the reply's body. It never blocks, so it is called on the engine's thread.
    private var sink: ResponseBody.Sink?
    private(set) var bytesSent: Int64 = 0
    /// The number of sent bytes that the peer is known to have acknowledged.
    private var bytesAccepted: Int64 = 0
    private var isInMemory = false
    var rewinds = 0
    /// The reason why a callback gave up. It is more precise than libcurl's code.
    var failure: (any Error)?
    var lastActivity = ContinuousClock.now
    /// The start of the current window for the minimum rate. nil before the reply.
    private var receivingSince: ContinuousClock.Instant?
    private var receivedCount = 0
    var isSendPaused = false
    var isReceivePaused = false

    init(_ request: HTTPRequest) {
        self.request = request
    }

    // MARK: Between the task and the engine

    /// Returns when the transfer has ended.
    func result(_ submit: (Transfer) -> Void, cancel: @escaping @Sendable (Transfer) -> Void) async throws
        -> HTTPResponse
    {
        try await withTaskCancellationHandler {
            begin(submit, cancel)
            return try await outcome.wait().get()
        } onCancel: {
            let wasSubmitted = phase.withLock { phase in
                defer { phase = .cancelled }
                return phase == .submitted
            }
            if wasSubmitted { cancel(self) }
        }
    }

    private func begin(_ submit: (Transfer) -> Void, _ cancel: (Transfer) -> Void) {
        let isNew = phase.withLock { phase in
            guard phase == .new else { return false }
            phase = .submitting
            return true
        }
        guard isNew else { return end(.failure(Self.cancellation)) }
        submit(self)
        // The engine ignores a cancellation of a transfer that it does not know yet, so it is repeated after the
        // submission.
        let isCancelled = phase.withLock { phase in
            if phase == .submitting { phase = .submitted }
            return phase == .cancelled
        }
        if isCancelled { cancel(self) }
    }

    static let cancellation = HTTPError(.cancelled, message: "The request was cancelled.", cause: CancellationError())

    /// Ends the transfer once. Later calls have no effect.
    func end(_ result: Result<HTTPResponse, any Error>) { outcome.resume(returning: result) }

    // MARK: Request body

    /// Reads the next bytes of the body. Returns nil if it cannot be read, and sets ``failure``.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let count: Int
        switch request.body {
        case .none: return 0
        case .bytes(let bytes):
            count = min(buffer.count, bytes.count - Int(bytesSent))
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(bytesSent)...].prefix(count)))
            }
        case .reading(let range, let read):
            let rest = Int64(range.count) - bytesSent
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(min(rest, Int64(buffer.count)))))
            do {
                count = piece.isEmpty ? 0 : try read(piece, range.lowerBound + bytesSent)
            } catch {
                failure = HTTPError(
                    .bodyUnreadable, message: "The body of the request cannot be read: \(error)", cause: error)
                return nil
            }
            if count == 0, rest > 0 {
                failure = HTTPError(.bodyUnreadable, message: "The body of the request ends \(rest) bytes too early.")
                return nil
            }
        }
        bytesSent += Int64(count)
        return count
    }

    /// Records how many bytes of the body the peer has acknowledged. Returns true if the number has increased.
    @discardableResult func accepted(_ byteCount: Int64) -> Bool {
        guard byteCount > bytesAccepted else { return false }
        bytesAccepted = byteCount
        request.onProgress?(byteCount)
        return true
    }

    /// Records libcurl's count of sent bytes for a body in memory.
    func sent(_ byteCount: Int64) {
        if isInMemory { bytesSent = byteCount }
    }

    /// Reads the whole body into memory, for a transfer whose body libcurl takes from there.
    func readAll(into buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) -> Int {
        var count = 0
        while count < Int(request.body.byteCount) {
            guard let more = read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])), more > 0 else {
                throw failure as? HTTPError
                    ?? HTTPError(.bodyUnreadable, message: "The body of the request cannot be read.")
            }
            count += more
        }
        isInMemory = true
        return count
    }

    /// Moves back in the body. libcurl does so to send the request again when a kept connection turns out to be dead.
    ///
    /// This is allowed once, because further attempts would not be counted.
    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, offset <= request.body.byteCount, rewinds == 0 || offset == bytesSent else { return false }
        if offset != bytesSent { rewinds += 1 }
        bytesSent = offset
        bytesAccepted = min(bytesAccepted, offset)
        return true
    }

    // MARK: Minimum rate of the reply

    func received(_ byteCount: Int) { receivedCount += byteCount }

    /// Starts a new window, as after a pause on this side.
    func restartRate() { receivingSince = nil }

    /// Returns true if too few bytes arrived in the last window. Only replies to a sink are measured, because a server
    /// may need time to compute other replies.
    func isTooSlow(_ options: HTTPOptions, now: ContinuousClock.Instant) -> Bool {
        guard case .sink = request.reply, !request.isLive, head != nil else { return false }
        guard let start = receivingSince else {
            receivingSince = now
            receivedCount = 0
            return false
        }
        guard now - start >= options.rateWindow else { return false }
        let least = Double(options.leastReceiveRate) * (options.rateWindow / .seconds(1))
        defer { restartRate() }
        return Double(receivedCount) < least
    }

    // MARK: Reply

    /// Adds one line of the head. Returns false to end the transfer.
    func takeHeadLine(_ line: UnsafeRawBufferPointer, inbox: Inbox) -> Bool {
        do {
            guard let head = try lines.take(line) else { return true }
            self.head = head
            if case .sink(let sink, let mayBlock, let accept) = request.reply, accept(head) {
                guard mayBlock else {
                    self.sink = sink
                    return true
                }
                relay = ReplyRelay(sink) { [weak self] in
                    if let self { inbox.resume(self) }
                }
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Rejects bytes without a head (HTTP/0.9), because their meaning is unknown.
    func requireHead(before bytes: UnsafeRawBufferPointer) -> Bool {
        if head != nil { return true }
        let host = request.origin.host
        // A TLS alert (RFC 8446, section 5.1) has type 21 and a version that begins with 3.
        let isAlert = !request.origin.isSecure && bytes.count >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03
        failure =
            isAlert
            ? HTTPError(.wrongProtocol, message: "\(host) speaks TLS at \(request.origin): write https.")
            : HTTPError(.invalidReply, message: "\(host) sent something that is not a reply of HTTP/1 or newer.")
        return false
    }

    /// Passes on bytes of the reply's body. Returns nil to pause the transfer, false to end it.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        if let relay {
            switch relay.take(bytes) {
            case .full: return nil
            case .failed: return false
            case .taken: break
            }
        } else if let sink {
            do {
                try sink(bytes)
            } catch {
                failure = error
                return false
            }
        } else {
            let limit = if case .bytes(let limit) = request.reply { limit } else { 1 << 20 }
            guard body.count + bytes.count <= limit else {
                failure = HTTPError(.invalidReply, message: "The reply is larger than \(limit) bytes.")
                return false
            }
            body.append(contentsOf: bytes)
        }
        return true
    }

    /// The complete reply, or nil before its head has arrived.
    var response: HTTPResponse? { head.map { HTTPResponse(head: $0, body: body, bytesSent: bytesSent) } }
}
