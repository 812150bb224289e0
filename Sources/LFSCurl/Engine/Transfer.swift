import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

/// One request on its way, and what has come back so far.
///
/// Unchecked because its plain properties belong to the engine's thread alone, from ``Inbox/submit(_:)`` on. The task
/// that made it touches only the phase and the outcome.
final class Transfer: @unchecked Sendable {
    private enum Phase { case new, submitting, submitted, cancelled }

    let request: HTTPRequest
    private let phase = Mutex(Phase.new)
    private let outcome = Waiter<Result<HTTPResponse, any Error>>()

    // The engine's thread only.
    var handle: EasyHandle?
    var queue: OriginQueue?
    var head: HTTPResponseHead?
    /// The reply's head as it comes in, line by line.
    private var lines = HeadReader()
    private var body: [UInt8] = []
    private(set) var relay: ReplyRelay?
    /// Takes the reply's body on this thread, since it never blocks.
    private var sink: ResponseBody.Sink?
    private(set) var bytesSent: Int64 = 0
    /// How many of them the peer has accepted, as far as is known.
    private var bytesAccepted: Int64 = 0
    private var isInMemory = false
    var rewinds = 0
    /// The reason that a callback gave up for; it says more than libcurl's code.
    var failure: (any Error)?
    var lastActivity = ContinuousClock.now
    /// When the bytes of the reply that are compared with the least rate began to count; nil before the reply.
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
        // A cancellation that came meanwhile would have met an engine that does not know the transfer yet.
        let isCancelled = phase.withLock { phase in
            if phase == .submitting { phase = .submitted }
            return phase == .cancelled
        }
        if isCancelled { cancel(self) }
    }

    static let cancellation = HTTPError(.cancelled, "The request was cancelled.", cause: CancellationError())

    /// Ends it, once; later calls do nothing.
    func end(_ result: Result<HTTPResponse, any Error>) { outcome.resume(returning: result) }

    // MARK: The body that goes out

    /// The next bytes of the body; nil when it cannot be read, and ``failure`` says why.
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
                failure = HTTPError(.bodyUnreadable, "What is to be sent cannot be read: \(error)", cause: error)
                return nil
            }
            if count == 0, rest > 0 {
                failure = HTTPError(.bodyUnreadable, "What is to be sent ends \(rest) bytes too early.")
                return nil
            }
        }
        bytesSent += Int64(count)
        return count
    }

    /// Takes how many bytes of the body the peer has accepted. Returns whether that are more than before.
    @discardableResult func accepted(_ byteCount: Int64) -> Bool {
        guard byteCount > bytesAccepted else { return false }
        bytesAccepted = byteCount
        request.onProgress?(byteCount)
        return true
    }

    /// Takes libcurl's own count of a body that it had in memory.
    func sent(_ byteCount: Int64) {
        if isInMemory { bytesSent = byteCount }
    }

    /// Reads the whole body, for a transfer whose body libcurl takes from memory.
    func readAll(into buffer: UnsafeMutableRawBufferPointer) throws(HTTPError) -> Int {
        var count = 0
        while count < Int(request.body.byteCount) {
            guard let more = read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...])), more > 0 else {
                throw failure as? HTTPError ?? HTTPError(.bodyUnreadable, "The body cannot be read.")
            }
            count += more
        }
        isInMemory = true
        return count
    }

    /// Goes back to a place in the body: libcurl sends again on a new connection when the kept one was dead.
    ///
    /// That is allowed once: more would be tries that nobody counts.
    func seek(to offset: Int64) -> Bool {
        guard offset >= 0, offset <= request.body.byteCount, rewinds == 0 || offset == bytesSent else { return false }
        if offset != bytesSent { rewinds += 1 }
        bytesSent = offset
        bytesAccepted = min(bytesAccepted, offset)
        return true
    }

    // MARK: The rate of the reply

    func received(_ byteCount: Int) { receivedCount += byteCount }

    /// Counts anew, as after a pause that was this side's.
    func restartRate() { receivingSince = nil }

    /// Whether the last window brought too few bytes. Only what streams to a sink is measured: a server may take its
    /// time for a reply that it has to work for.
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

    // MARK: The reply that comes in

    /// Takes one line of the head; false ends the transfer.
    func takeHeadLine(_ line: UnsafeRawBufferPointer, _ inbox: Inbox) -> Bool {
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

    /// Refuses bytes that come without a head (HTTP/0.9): nothing says what they are.
    func requireHead(before bytes: UnsafeRawBufferPointer) -> Bool {
        if head != nil { return true }
        let host = request.origin.host
        // An alert of TLS (RFC 8446, 5.1): type 21, and a version that begins with 3.
        let isAlert = !request.origin.isSecure && bytes.count >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03
        failure =
            isAlert
            ? HTTPError(.wrongProtocol, "\(host) speaks TLS at \(request.origin): write https.")
            : HTTPError(.invalidReply, "\(host) sent something that is no reply of HTTP/1 or newer.")
        return false
    }

    /// Takes bytes of the reply's body; nil asks for a pause, false ends the transfer.
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
                failure = HTTPError(.invalidReply, "The reply is larger than \(limit) bytes.")
                return false
            }
            body.append(contentsOf: bytes)
        }
        return true
    }

    /// The whole reply; nil before its head has come.
    var response: HTTPResponse? { head.map { HTTPResponse(head: $0, body: body, bytesSent: bytesSent) } }
}
