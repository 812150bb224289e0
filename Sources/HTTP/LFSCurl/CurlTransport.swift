import CCurl
import Foundation
package import LFSHTTP
import LFSSystem

/// A transport on libcurl's multi interface. It uses one thread, keeps connections open, and speaks HTTP/1.1.
///
/// The thread starts with the first request. It ends with ``shutdown()``, or when the last reference to this object is
/// released. The thread owns all waiting requests. This object only hands requests over.
package final class CurlTransport: HTTPTransport {
    private let options: HTTPOptions
    private let time: @Sendable () -> ContinuousClock.Instant
    private let inbox = Inbox()
    private let start: ThreadStart

    typealias ThreadStart = @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void

    /// libcurl requires this call once per process, before all others.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// - Parameter time: returns the current time, for stall detection and rate limits.
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
                guard isReady, let loop = EventLoop(options, inbox: inbox, time: time) else {
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

    /// Blocks SIGPIPE for this thread only. If a connection breaks during a TLS write, the signal would end the
    /// process. libcurl reports the broken connection instead.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
