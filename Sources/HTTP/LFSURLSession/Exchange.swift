import Foundation
import LFSHTTP
import LFSSystem
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request, the received part of its reply, and its outcome.
///
/// The session's queue calls the methods for the reply one after the other. The mutex is for the task that waits, and
/// is never held across a call.
final class Exchange: Sendable {
    private struct State {
        var task: URLSessionTask?
        var isCancelled = false
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        var relay: ReplyRelay?
        /// The back pressure of the relay on the task.
        var pressure: BackPressure?
        /// The sink of the reply's body. It never blocks, so it is called on the session's queue.
        var sink: ResponseBody.Sink?
        var receivedCount: Int64 = 0
        var bytesSent: Int64 = 0
        /// The reason why this side gave up. It is more precise than the session's error.
        var failure: (any Error)?
        /// The start of the current window for the minimum rate, and its bytes.
        var windowStart: ContinuousClock.Instant?
        var windowCount = 0
    }

    static let cancellation = HTTPError(.cancelled, message: "The request was cancelled.", cause: CancellationError())

    private let request: HTTPRequest
    private let options: HTTPOptions
    private let time: @Sendable () -> ContinuousClock.Instant
    private let state = Mutex(State())
    private let outcome = Waiter<Result<HTTPResponse, any Error>>()

    init(_ request: HTTPRequest, options: HTTPOptions, time: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.request = request
        self.options = options
        self.time = time
    }

    // MARK: The task that waits

    /// Starts the session's task and returns when the reply is complete.
    func result(of task: URLSessionTask) async throws -> HTTPResponse {
        try await withTaskCancellationHandler {
            begin(task)
            return try await outcome.wait().get()
        } onCancel: {
            let running = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            running?.cancel()
        }
    }

    private func begin(_ task: URLSessionTask) {
        if state.withLock(\.isCancelled) {
            task.cancel()
            return outcome.resume(returning: .failure(Self.cancellation))
        }
        task.resume()
        let isOver = state.withLock { state in
            state.task = task
            // A failure of this side may have come since the start of the task.
            return state.isCancelled || state.failure != nil
        }
        if isOver { task.cancel() }
    }

    /// Ends the request with an error of this side.
    func fail(_ error: any Error) {
        let task = state.withLock { state in
            if state.failure == nil { state.failure = error }
            return state.task
        }
        task?.cancel()
    }

    // MARK: The session's queue

    /// Records the reply's head. Returns false to end the request.
    func takeHead(_ response: URLResponse, of task: URLSessionTask) -> Bool {
        do {
            let head = try HTTPResponseHead(response)
            try checkEncoding(head)
            var relay: ReplyRelay?
            var direct: ResponseBody.Sink?
            if case .sink(let sink, let mayBlock, let accept) = request.reply, accept(head) {
                if mayBlock { relay = makeRelay(sink) } else { direct = sink }
            }
            let pressure = relay.map { makePressure(of: $0, on: task) }
            state.withLock { state in
                state.head = head
                state.relay = relay
                state.pressure = pressure
                state.sink = direct
            }
            return true
        } catch {
            fail(error)
            return false
        }
    }

    private func makeRelay(_ sink: @escaping ResponseBody.Sink) -> ReplyRelay {
        ReplyRelay(sink) { [weak self] in
            self?.restartRate()
            self?.updatePressure()
        }
    }

    /// Returns the back pressure of a relay on the session's task.
    ///
    /// It does nothing with the Foundation of Linux. There a paused task still receives, and pausing a task that is
    /// about to end can end the process (`_NativeProtocol.stopLoading`).
    private func makePressure(of relay: ReplyRelay, on task: URLSessionTask) -> BackPressure {
        #if canImport(FoundationNetworking)
        return BackPressure(isFull: { relay.isHeldBack }, suspend: {}, resume: {})
        #else
        return BackPressure(isFull: { relay.isHeldBack }, suspend: { task.suspend() }, resume: { task.resume() })
        #endif
    }

    private func updatePressure() { state.withLock(\.pressure)?.update() }

    /// Refuses an encoded object, because Foundation would decode it and its bytes would not be those on the storage.
    private func checkEncoding(_ head: HTTPResponseHead) throws(HTTPError) {
        guard !request.acceptsGzip, head.isSuccess, request.method != .head, let encoding = head.contentEncoding else {
            return
        }
        throw HTTPError(
            .invalidReply,
            message: """
                \(request.origin.host) sent an object with Content-Encoding: \(encoding), which URLSession would \
                decode. Remove that property from the object, or choose the engine libcurl.
                """)
    }

    /// Passes on bytes of the reply's body.
    func takeBody(_ data: Data) {
        let (relay, sink) = state.withLock { state in
            state.receivedCount += Int64(data.count)
            state.windowCount += data.count
            return (state.relay, state.sink)
        }
        do {
            if isTooSlow() { throw tooSlow }
            if let relay {
                switch data.withUnsafeBytes({ relay.keep($0) }) {
                // The session may deliver some more bytes, and then pauses the connection.
                case .full: updatePressure()
                case .failed: state.withLock(\.task)?.cancel()
                case .taken: break
                }
            } else if let sink {
                try data.withUnsafeBytes { try sink($0) }
            } else {
                try collect(data)
            }
        } catch {
            fail(error)
        }
    }

    private func collect(_ data: Data) throws(HTTPError) {
        let limit = if case .bytes(let limit) = request.reply { limit } else { 1 << 20 }
        let fits = state.withLock { state in
            guard state.body.count + data.count <= limit else { return false }
            state.body.append(contentsOf: data)
            return true
        }
        guard fits else { throw HTTPError(.invalidReply, message: "The reply is larger than \(limit) bytes.") }
    }

    func sent(_ byteCount: Int64) {
        state.withLock { $0.bytesSent = max($0.bytesSent, byteCount) }
        request.onProgress?(byteCount)
    }

    /// Ends the exchange. Later calls have no effect.
    func complete(_ error: (any Error)?, bodyFailure: (any Error)?, bytesSent: Int64) {
        let (result, relay) = state.withLock { state in
            state.bytesSent = max(state.bytesSent, bytesSent)
            state.task = nil
            state.pressure = nil
            return (makeResult(state, error: error, bodyFailure: bodyFailure), state.relay)
        }
        guard let relay else { return outcome.resume(returning: result) }
        let failed = if case .failure = result { true } else { false }
        relay.finish(discarding: failed) { [outcome] error in
            outcome.resume(returning: error.map { .failure($0) } ?? result)
        }
    }

    private func makeResult(
        _ state: State, error: (any Error)?, bodyFailure: (any Error)?
    ) -> Result<HTTPResponse, any Error> {
        if let failure = state.failure ?? bodyFailure { return .failure(failure) }
        if state.isCancelled, error != nil { return .failure(Self.cancellation) }
        if let error { return .failure(HTTPError(error, origin: request.origin)) }
        let host = request.origin.host
        guard let head = state.head else {
            return .failure(HTTPError(.invalidReply, message: "\(host) sent no reply."))
        }
        // Foundation does not report every connection that was closed too early.
        if head.contentEncoding == nil, request.method != .head, ![204, 304].contains(head.status),
            let length = head.contentLength, length != state.receivedCount
        {
            return .failure(
                HTTPError(
                    .connectionLost, message: "\(host) sent \(state.receivedCount) of \(length) bytes of its reply."))
        }
        return .success(HTTPResponse(head: head, body: state.body, bytesSent: state.bytesSent))
    }

    // MARK: Minimum rate of the reply

    /// Starts a new window, as after a pause on this side.
    private func restartRate() { state.withLock { $0.windowStart = nil } }

    /// Returns true if too few bytes arrived in the last window. Only replies to a sink are measured, because a server
    /// may need time to compute other replies.
    ///
    /// The bytes of a trickling reply arrive more often than the stall limit, so no timer is needed.
    private func isTooSlow() -> Bool {
        guard case .sink = request.reply, !request.isLive else { return false }
        let now = time()
        return state.withLock { state in
            guard let start = state.windowStart else {
                state.windowStart = now
                state.windowCount = 0
                return false
            }
            guard now - start >= options.rateWindow else { return false }
            defer {
                state.windowStart = now
                state.windowCount = 0
            }
            return Double(state.windowCount) < Double(options.leastReceiveRate) * (options.rateWindow / .seconds(1))
        }
    }

    private var tooSlow: HTTPError {
        HTTPError(
            .timeout,
            message: """
                \(request.origin.host) has sent less than \(options.leastReceiveRate) bytes a second for \
                \(Int(options.rateWindow / .seconds(1))) s.
                """)
    }
}

extension HTTPResponseHead {
    /// - Throws: ``HTTPError/Code/invalidReply`` for an ambiguous head.
    init(_ response: URLResponse) throws(HTTPError) {
        guard let response = response as? HTTPURLResponse, (200..<600).contains(response.statusCode) else {
            throw HTTPError(.invalidReply, message: "The reply has no valid status.")
        }
        self.init(status: response.statusCode)
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            headers.append(received: name, value)
        }
        // Foundation joins equal fields with commas.
        let lengths = Set(
            (contentLengthField ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        guard lengths.count <= 1 else {
            throw HTTPError(.invalidReply, message: "The reply has two different lengths.")
        }
    }

    /// The encoding of the body, or nil for none.
    fileprivate var contentEncoding: String? {
        guard let encoding = headers["content-encoding"], !encoding.isEmpty, encoding.lowercased() != "identity" else {
            return nil
        }
        return encoding
    }
}
