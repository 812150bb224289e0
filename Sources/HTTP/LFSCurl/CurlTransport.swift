package import LFSHTTP
import LFSSystem

/// A transport on libcurl's multi interface. It uses one thread, keeps connections open, and speaks HTTP/1.1.
///
/// The thread starts with the first request. It ends with ``shutdown()``, or when the last reference to this object is
/// released. The thread owns all waiting requests. This object only hands requests over.
package final class CurlTransport: HTTPTransport {
    private let options: HTTPOptions
    private let thread: EngineThread

    /// - Parameter time: returns the current time, for stall detection and rate limits.
    package convenience init(
        _ options: HTTPOptions = HTTPOptions(), time: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.init(options, time: time) { body throws(SystemError) in try SystemThread.start("lfs-http", body) }
    }

    init(
        _ options: HTTPOptions, time: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        start: @escaping EngineThread.Start
    ) {
        self.options = options
        thread = EngineThread(options, time: time, start: start)
    }

    deinit { thread.inbox.close() }

    package var executor: (any TaskExecutor)? { thread }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try options.check(request)
        let thread = thread
        return try await Transfer(request).result { transfer in
            thread.submit(transfer)
        } cancel: { transfer in
            thread.inbox.cancel(transfer)
        }
    }

    package func shutdown() async {
        thread.inbox.close()
        await thread.inbox.waitUntilClosed()
    }
}
