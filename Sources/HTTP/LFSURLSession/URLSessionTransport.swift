import Foundation
package import LFSHTTP
import LFSSystem
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A transport on Foundation's `URLSession`, for Apple platforms. It needs no other library.
///
/// The session is created with the first request. It ends with ``shutdown()``, or when the last reference to this
/// object is released. Foundation on Linux differs in several rules of the contract, so there it serves tests only.
package final class URLSessionTransport: HTTPTransport {
    private enum State {
        case new
        case running(URLSession)
        case closed
    }

    private let options: HTTPOptions
    private let time: @Sendable () -> ContinuousClock.Instant
    private let delegate: SessionDelegate
    private let state = Mutex(State.new)
    private let permits = Mutex<[HTTPOrigin: AsyncSemaphore]>([:])

    /// - Parameter time: returns the current time, for the minimum rate.
    package init(
        _ options: HTTPOptions = HTTPOptions(), time: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.options = options
        self.time = time
        delegate = SessionDelegate(authorities: options.certificateAuthorities)
    }

    deinit {
        if case .running(let session) = state.withLock({ $0 }) { session.invalidateAndCancel() }
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try options.check(request)
        try options.checkForURLSession()
        let message = try request.message(options)
        let permits = permits(for: request.origin)
        do { try await permits.acquire() } catch { throw Exchange.cancellation }
        defer { permits.release() }
        let body = try await UploadBody(request.body)
        defer { body.remove() }
        let exchange = Exchange(request, options: options, time: time)
        let task = try start(exchange, message: message, body: body)
        defer { delegate.remove(task) }
        return try await exchange.result(of: task)
    }

    package func shutdown() async {
        let last = state.withLock { state in
            defer { state = .closed }
            return state
        }
        switch last {
        case .new: delegate.closed.open()
        case .running(let session):
            delegate.failAll(HTTPError.closed)
            session.invalidateAndCancel()
        case .closed: break
        }
        await delegate.closed.waitThroughCancellation()
    }

    /// Creates the task of a request. The lock is held because a task that is created in an ended session would end the
    /// process.
    private func start(_ exchange: Exchange, message: URLRequest, body: UploadBody) throws(HTTPError) -> URLSessionTask
    {
        try state.withLock { state throws(HTTPError) in
            let session: URLSession
            switch state {
            case .closed: throw HTTPError.closed
            case .running(let running): session = running
            case .new:
                session = makeSession()
                state = .running(session)
            }
            let task = body.makeTask(in: session, message: message)
            delegate.add(exchange, body: body, for: task)
            return task
        }
    }

    private func makeSession() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.httpMaximumConnectionsPerHost = max(options.maxRequestsPerOrigin, 1)
        #if canImport(Darwin)
        configuration.tlsMinimumSupportedProtocolVersion = .TLSv12
        configuration.waitsForConnectivity = false
        #endif
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func permits(for origin: HTTPOrigin) -> AsyncSemaphore {
        permits.withLock { permits in
            if let known = permits[origin] { return known }
            let new = AsyncSemaphore(options.maxRequestsPerOrigin)
            permits[origin] = new
            return new
        }
    }
}
