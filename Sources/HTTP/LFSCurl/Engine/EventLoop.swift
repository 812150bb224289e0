import CCurl
import Foundation
import LFSHTTP
import LFSSystem

/// The event loop of the engine's thread. It makes all calls of libcurl, and it waits only for the network and the
/// inbox.
final class EventLoop {
    private let options: HTTPOptions
    private let thread: EngineThread
    private var inbox: Inbox { thread.inbox }
    private let multi: UnsafeMutableRawPointer
    /// All existing handles. A handle with a transfer is active.
    private var handles: [EasyHandle] = []
    private var activeCount = 0
    private var origins: [HTTPOrigin: OriginQueue] = [:]
    private var lastQueue: (origin: HTTPOrigin, queue: OriginQueue)?
    private var idle: [EasyHandle] = []
    private let time: () -> ContinuousClock.Instant
    private var now: ContinuousClock.Instant
    private var sendLimiter: RateLimiter?
    private var receiveLimiter: RateLimiter?
    /// Transfers that wait for a rate limit.
    private var throttled: [Transfer] = []
    private var nextStallCheck: ContinuousClock.Instant
    /// The sockets that libcurl has opened. Some of them may be closed by now.
    private var sockets: Set<curl_socket_t> = []

    private static let stallCheckInterval = Duration.milliseconds(250)
    /// The maximum number of idle handles that are kept for later requests.
    private static let maxIdle = 64
    /// A job may queue the next one at once, for example a task that yields.
    private static let maxRounds = 64

    init?(_ options: HTTPOptions, thread: EngineThread, time: @escaping () -> ContinuousClock.Instant) {
        guard let multi = curl_multi_init() else { return nil }
        self.options = options
        self.thread = thread
        self.multi = multi
        self.time = time
        now = time()
        nextStallCheck = now
        sendLimiter = options.sendLimit.map { RateLimiter(bytesPerSecond: $0, now: now) }
        receiveLimiter = options.receiveLimit.map { RateLimiter(bytesPerSecond: $0, now: now) }
        _ = lfs_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, options.maxRequestsPerOrigin)
        _ = lfs_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 2 * options.maxRequestsPerOrigin)
    }

    /// Runs until the inbox asks it to close.
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

    /// Handles messages until the inbox is empty, but lets the network continue after some rounds. Returns false if the
    /// engine must close.
    private func handleMail() -> Bool {
        for _ in 0..<Self.maxRounds {
            let mail = inbox.collect()
            run(mail.jobs)
            if mail.isClosing {
                for transfer in mail.submitted { transfer.end(.failure(HTTPError.closed)) }
                return false
            }
            if mail.isEmpty { return true }
            for transfer in mail.submitted { submit(transfer) }
            for transfer in mail.cancelled { cancel(transfer) }
            for transfer in mail.resumed { resume(transfer) }
        }
        return true
    }

    /// Runs the jobs of tasks. The engine reads no replies during that time, so it does not count as a stall.
    private func run(_ jobs: [UnownedJob]) {
        if jobs.isEmpty { return }
        for job in jobs { thread.run(job) }
        let duration = time() - now
        now += duration
        guard duration >= Self.stallCheckInterval else { return }
        for handle in handles { handle.transfer?.lastActivity += duration }
    }

    private func sleep() {
        // Without a transfer, there is only the inbox to wait for.
        var wait = activeCount == 0 ? Duration.seconds(60) : Self.stallCheckInterval
        if !throttled.isEmpty { wait = min(wait, max(nextGrant() - now, .milliseconds(1))) }
        guard inbox.fallAsleep() else { return }
        curl_multi_poll(multi, nil, 0, Int32(wait / .milliseconds(1)), nil)
    }

    // MARK: Life cycle of a transfer

    private func submit(_ transfer: Transfer) {
        let queue = queue(of: transfer.request.origin)
        transfer.queue = queue
        if queue.enter(transfer) { start(transfer) }
    }

    private func queue(of origin: HTTPOrigin) -> OriginQueue {
        // Consecutive requests almost always have the same origin.
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
                throw HTTPError(
                    .connectionLost, message: "libcurl cannot start: \(String(cString: curl_multi_strerror(code)))")
            }
        } catch {
            finish(transfer, result: .failure(error))
        }
    }

    private func makeHandle() throws(HTTPError) -> EasyHandle {
        let handle = try EasyHandle(self, options: options)
        handles.append(handle)
        return handle
    }

    private func cancel(_ transfer: Transfer) {
        if transfer.handle != nil {
            finish(transfer, result: .failure(Transfer.cancellation))
        } else if transfer.queue?.remove(transfer) == true {
            transfer.end(.failure(Transfer.cancellation))
        }
    }

    /// Removes a transfer from libcurl, and ends it once its sink has all bytes. Then it starts the next transfer of
    /// the origin.
    private func finish(_ transfer: Transfer, result: Result<HTTPResponse, any Error>) {
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
            transfer.queue?.hasReplied = transfer.head != nil
            finish(transfer, result: handle.outcome(code))
        }
    }

    private func endStalled() {
        nextStallCheck = now.advanced(by: Self.stallCheckInterval)
        for handle in handles {
            guard let transfer = handle.transfer else { continue }
            noteAccepted(handle, transfer: transfer)
            if transfer.isSendPaused || transfer.isReceivePaused { continue }
            if transfer.isTooSlow(options, now: now) {
                let error = HTTPError(
                    .timeout,
                    message:
                        "\(transfer.request.origin.host) has sent less than \(options.leastReceiveRate) bytes a second "
                        + "for \(options.rateWindow.inSeconds) s.")
                finish(transfer, result: .failure(error))
                continue
            }
            let limit = transfer.request.stallTimeout ?? options.stallTimeout
            guard now - transfer.lastActivity > limit else { continue }
            let error = HTTPError(
                .timeout,
                message: "\(transfer.request.origin.host) has not sent or accepted a byte for \(limit.inSeconds) s.")
            finish(transfer, result: .failure(error))
        }
    }

    private func close() {
        let error = HTTPError.closed
        // Waiting transfers are removed first. Otherwise each transfer that ends would start one of them.
        for queue in origins.values {
            for transfer in queue.removeWaiting() { transfer.end(.failure(error)) }
        }
        origins = [:]
        lastQueue = nil
        for transfer in handles.compactMap(\.transfer) { finish(transfer, result: .failure(error)) }
        thread.runElsewhere(inbox.end())
        idle = []
        handles = []
        curl_multi_cleanup(multi)
    }

    /// Records the bytes that the peer has acknowledged, which is the only sign of progress on a slow connection.
    ///
    /// libcurl asks for more bytes only when its large buffer is empty, and not at all after the last bytes,
    /// although the system may still buffer megabytes.
    private func noteAccepted(_ handle: EasyHandle, transfer: Transfer) {
        guard transfer.request.body.byteCount > 0, let count = handle.acceptedByteCount else { return }
        if transfer.accepted(count) { transfer.lastActivity = now }
    }

    /// Returns the socket with this local port.
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

    // MARK: Requests of the callbacks

    /// Returns how many bytes of a body may be sent now. nil pauses the transfer.
    func grantSend(_ wanted: Int, to transfer: Transfer) -> Int? {
        transfer.lastActivity = now
        if let handle = transfer.handle { noteAccepted(handle, transfer: transfer) }
        guard sendLimiter != nil else { return wanted }
        // The end of the body needs no grant.
        let rest = transfer.request.body.byteCount - transfer.bytesSent
        guard rest > 0 else { return wanted }
        let granted = sendLimiter?.grant(Int(min(Int64(wanted), rest)), now: now) ?? wanted
        if granted > 0 { return granted }
        transfer.isSendPaused = true
        throttled.append(transfer)
        return nil
    }

    /// Returns true if bytes of a reply may be received now. false pauses the transfer.
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
        return transfer.takeHeadLine(line, inbox: inbox)
    }
}

extension Duration {
    /// The seconds as text for messages.
    fileprivate var inSeconds: String { String(format: "%g", self / .seconds(1)) }
}
