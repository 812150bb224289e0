import CCurl
import Foundation
import LFSHTTP
import LFSSystem

/// The engine's thread: all of libcurl happens here, and nothing here waits for anything but the network.
final class EventLoop {
    private let options: HTTPOptions
    private let inbox: Inbox
    private let multi: UnsafeMutableRawPointer
    /// All that were made; those with a transfer are at work.
    private var handles: [EasyHandle] = []
    private var activeCount = 0
    private var origins: [HTTPOrigin: OriginQueue] = [:]
    private var lastQueue: (origin: HTTPOrigin, queue: OriginQueue)?
    private var idle: [EasyHandle] = []
    private let time: () -> ContinuousClock.Instant
    private var now: ContinuousClock.Instant
    private var sendLimiter: RateLimiter?
    private var receiveLimiter: RateLimiter?
    /// Transfers that wait for the rate limit.
    private var throttled: [Transfer] = []
    private var nextStallCheck: ContinuousClock.Instant
    /// The sockets that libcurl has made; some may be closed by now.
    private var sockets: Set<curl_socket_t> = []

    private static let stallCheckInterval = Duration.milliseconds(250)
    /// Handles that are kept for later requests; more than are used at once are not needed.
    private static let maxIdle = 64

    init?(_ options: HTTPOptions, _ inbox: Inbox, time: @escaping () -> ContinuousClock.Instant) {
        guard let multi = curl_multi_init() else { return nil }
        self.options = options
        self.inbox = inbox
        self.multi = multi
        self.time = time
        now = time()
        nextStallCheck = now
        sendLimiter = options.sendLimit.map { RateLimiter(bytesPerSecond: $0, now: now) }
        receiveLimiter = options.receiveLimit.map { RateLimiter(bytesPerSecond: $0, now: now) }
        _ = lfs_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.maxRequestsPerOrigin)
        _ = lfs_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2 * options.maxRequestsPerOrigin)
    }

    /// Works until it is told to close.
    func run() {
        inbox.begin(MultiPointer(raw: multi))
        while withAutoreleasePool(runOnce) {}
        close()
    }

    /// Performs due work and waits for more. Returns false once the engine closes.
    private func runOnce() -> Bool {
        now = time()
        if !handleMail() { return false }
        resumeThrottled()
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        collectFinished()
        if now >= nextStallCheck { endStalled() }
        sleep()
        return true
    }

    /// Does what it was told, until there is nothing more; false when it was told to close.
    private func handleMail() -> Bool {
        while true {
            let mail = inbox.collect()
            if mail.isClosing {
                for transfer in mail.submitted { transfer.end(.failure(HTTPError.closed)) }
                return false
            }
            if mail.isEmpty { return true }
            for transfer in mail.submitted { submit(transfer) }
            for transfer in mail.cancelled { cancel(transfer) }
            for transfer in mail.resumed { resume(transfer) }
        }
    }

    private func sleep() {
        // Without a transfer there is nothing to watch but the inbox.
        var wait = activeCount == 0 ? Duration.seconds(60) : Self.stallCheckInterval
        if !throttled.isEmpty { wait = min(wait, max(nextGrant() - now, .milliseconds(1))) }
        guard inbox.fallAsleep() else { return }
        curl_multi_poll(multi, nil, 0, Int32(wait / .milliseconds(1)), nil)
    }

    // MARK: The life of a transfer

    private func submit(_ transfer: Transfer) {
        let queue = queue(of: transfer.request.origin)
        transfer.queue = queue
        if queue.enter(transfer) { start(transfer) }
    }

    private func queue(of origin: HTTPOrigin) -> OriginQueue {
        // Almost always the same one again.
        if let last = lastQueue, last.origin == origin { return last.queue }
        let queue = origins[origin] ?? OriginQueue(limit: options.maxRequestsPerOrigin)
        origins[origin] = queue
        lastQueue = (origin, queue)
        return queue
    }

    private func start(_ transfer: Transfer) {
        do {
            let handle = try idle.popLast() ?? makeHandle()
            do {
                try handle.prepare(transfer)
            } catch {
                handle.release()
                idle.append(handle)
                throw error
            }
            transfer.lastActivity = now
            activeCount += 1
            let code = curl_multi_add_handle(multi, handle.raw)
            guard code == CURLM_OK else {
                throw HTTPError(.connectionLost, "libcurl cannot start: \(String(cString: curl_multi_strerror(code)))")
            }
        } catch {
            finish(transfer, .failure(error))
        }
    }

    private func makeHandle() throws(HTTPError) -> EasyHandle {
        let handle = try EasyHandle(self, options)
        handles.append(handle)
        return handle
    }

    private func cancel(_ transfer: Transfer) {
        if transfer.handle != nil {
            finish(transfer, .failure(Transfer.cancellation))
        } else if transfer.queue?.remove(transfer) == true {
            transfer.end(.failure(Transfer.cancellation))
        }
    }

    /// Takes a transfer out of libcurl and ends it once its sink has everything; then the next of its origin begins.
    private func finish(_ transfer: Transfer, _ result: Result<HTTPResponse, any Error>) {
        if let handle = transfer.handle {
            curl_multi_remove_handle(multi, handle.raw)
            handle.release()
            activeCount -= 1
            if idle.count < Self.maxIdle { idle.append(handle) } else { handles.removeAll { $0 === handle } }
        }
        if transfer.isSendPaused || transfer.isReceivePaused { throttled.removeAll { $0 === transfer } }
        if let relay = transfer.relay {
            let failed = if case .failure = result { true } else { false }
            relay.finish(discarding: failed) { error in transfer.end(error.map { .failure($0) } ?? result) }
        } else {
            transfer.end(result)
        }
        if let next = transfer.queue?.leave() { start(next) }
    }

    private func collectFinished() {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            _ = lfs_easy_get_pointer(easy, CURLINFO_PRIVATE, &context)
            guard let context else { continue }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            guard let transfer = handle.transfer else { continue }
            finish(transfer, handle.outcome(code))
        }
    }

    private func endStalled() {
        nextStallCheck = now.advanced(by: Self.stallCheckInterval)
        for handle in handles {
            guard let transfer = handle.transfer else { continue }
            noteAccepted(handle, transfer)
            if transfer.isSendPaused || transfer.isReceivePaused { continue }
            if transfer.isTooSlow(options, now: now) {
                let error = HTTPError(
                    .timeout,
                    "\(transfer.request.origin.host) has sent less than \(options.leastReceiveRate) bytes a second "
                        + "for \(options.rateWindow.inSeconds) s.")
                finish(transfer, .failure(error))
                continue
            }
            let limit = transfer.request.stallTimeout ?? options.stallTimeout
            guard now - transfer.lastActivity > limit else { continue }
            let error = HTTPError(
                .timeout, "\(transfer.request.origin.host) has not moved a byte for \(limit.inSeconds) s.")
            finish(transfer, .failure(error))
        }
    }

    private func close() {
        let error = HTTPError.closed
        // Before the others: each of those that end would let one of these begin.
        for queue in origins.values {
            for transfer in queue.removeWaiting() { transfer.end(.failure(error)) }
        }
        (origins, lastQueue) = ([:], nil)
        for transfer in handles.compactMap(\.transfer) { finish(transfer, .failure(error)) }
        inbox.end()
        (idle, handles) = ([], [])
        curl_multi_cleanup(multi)
    }

    /// What the peer accepts is the only progress of a slow line: libcurl asks for the next bytes once all of its large
    /// buffer has gone, and for none after the last, while the system may hold megabytes.
    private func noteAccepted(_ handle: EasyHandle, _ transfer: Transfer) {
        guard transfer.request.body.byteCount > 0, let count = handle.acceptedByteCount else { return }
        if transfer.accepted(count) { transfer.lastActivity = now }
    }

    /// The socket with this port on our side.
    func socket(at port: Int) -> curl_socket_t? {
        guard port > 0 else { return nil }
        return sockets.first { socket in lfs_socket_port(socket) == port }
    }

    func opened(_ socket: curl_socket_t) {
        sockets = sockets.filter { lfs_socket_port($0) >= 0 }
        sockets.insert(socket)
    }

    // MARK: Pauses

    private func resume(_ transfer: Transfer) {
        guard let handle = transfer.handle else { return }
        transfer.lastActivity = now
        transfer.restartRate()
        transfer.isSendPaused = false
        transfer.isReceivePaused = false
        curl_easy_pause(handle.raw, CURLPAUSE_CONT)
    }

    private func nextGrant() -> ContinuousClock.Instant {
        let sending = throttled.contains(where: \.isSendPaused) ? sendLimiter?.nextGrant : nil
        let receiving = throttled.contains(where: \.isReceivePaused) ? receiveLimiter?.nextGrant : nil
        return [sending, receiving].compactMap(\.self).min() ?? now
    }

    private func resumeThrottled() {
        guard !throttled.isEmpty, nextGrant() <= now else { return }
        let waiting = throttled
        throttled = []
        for transfer in waiting { resume(transfer) }
    }

    // MARK: What the callbacks ask

    /// How many bytes of a body may go out now; nil pauses the transfer.
    func grantSend(_ wanted: Int, to transfer: Transfer) -> Int? {
        transfer.lastActivity = now
        if let handle = transfer.handle { noteAccepted(handle, transfer) }
        guard sendLimiter != nil else { return wanted }
        // The end of the body is told at once.
        let rest = transfer.request.body.byteCount - transfer.bytesSent
        guard rest > 0 else { return wanted }
        let granted = sendLimiter?.grant(Int(min(Int64(wanted), rest)), now: now) ?? wanted
        if granted > 0 { return granted }
        transfer.isSendPaused = true
        throttled.append(transfer)
        return nil
    }

    /// Whether bytes of a reply may be taken now; false pauses the transfer.
    func grantReceive(_ count: Int, to transfer: Transfer) -> Bool {
        transfer.lastActivity = now
        guard receiveLimiter?.take(count, now: now) == false else {
            transfer.received(count)
            return true
        }
        transfer.isReceivePaused = true
        throttled.append(transfer)
        return false
    }

    func takeHeadLine(_ line: UnsafeRawBufferPointer, of transfer: Transfer) -> Bool {
        transfer.lastActivity = now
        return transfer.takeHeadLine(line, inbox)
    }
}

extension Duration {
    /// For messages.
    fileprivate var inSeconds: String { String(format: "%g", self / .seconds(1)) }
}
