import CCurl
import Foundation
package import LFSHTTP
import LFSSystem

/// Requests over libcurl's multi interface: one thread, kept connections, and HTTP/1.1 on them.
///
/// The thread starts with the first request and ends with ``shutdown()`` or with the last reference to this object.
/// Everything that waits belongs to that thread; this object only hands requests over.
package final class CurlTransport: HTTPTransport {
    private let options: HTTPOptions
    private let time: @Sendable () -> ContinuousClock.Instant
    private let inbox = Inbox()
    private let start: ThreadStart

    typealias ThreadStart = @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void

    /// libcurl asks for this once in a process, before anything else.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// - Parameter time: tells the time by which transfers stall and rates are limited.
    package convenience init(
        _ options: HTTPOptions = HTTPOptions(), time: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.init(options, time: time) { body throws(SystemError) in try SystemThread.start("lfs-http", body) }
    }

    init(
        _ options: HTTPOptions, time: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        start: @escaping ThreadStart
    ) {
        self.options = options
        self.time = time
        self.start = start
    }

    deinit { inbox.close() }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try options.check(request)
        let inbox = inbox
        return try await Transfer(request).result { transfer in
            switch inbox.submit(transfer) {
            case .running: break
            case .start: startThread()
            case .closed: transfer.end(.failure(HTTPError.closed))
            }
        } cancel: { transfer in
            inbox.cancel(transfer)
        }
    }

    package func shutdown() async {
        inbox.close()
        await inbox.waitUntilClosed()
    }

    private func startThread() {
        let options = options
        let inbox = inbox
        let time = time
        let isReady = Self.isReady
        do throws(SystemError) {
            try start {
                Self.blockBrokenPipeSignal()
                guard isReady, let loop = EventLoop(options, inbox, time: time) else {
                    inbox.close()
                    inbox.end()
                    return
                }
                loop.run()
            }
        } catch {
            inbox.refuse(.noThread(error))
        }
    }

    /// A connection that breaks while TLS writes to it would raise SIGPIPE, which ends the process by default.
    /// Here it is blocked for this thread only; libcurl reports the broken connection.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
