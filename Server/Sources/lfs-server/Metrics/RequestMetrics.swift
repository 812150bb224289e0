import CoreMetrics
import HTTPTypes
import Hummingbird
import MetricsText
import Synchronization

/// A middleware that counts requests, their durations and their failures.
///
/// The names are those of Hummingbird's own middleware. Unlike it, this one also counts a reply with 5xx as an error,
/// and a client cannot create series, because all methods that HTTP does not define share one.
///
/// The mutex owns the series.
final class RequestMetrics<Context: RequestContext>: RouterMiddleware {
    private struct ReplyID: Hashable {
        let route: String
        let method: String
        let status: Int
    }

    private struct Reply {
        let count: Counter
        let duration: Timer
        let errorCount: Counter?
    }

    private struct State {
        var replies: [ReplyID: Reply] = [:]
        var active: [String: Meter] = [:]
    }

    private let factory: any MetricsFactory
    private let state = Mutex(State())

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        // The series of errors exists before the first one, so that a rate sees it.
        let dimensions = [("http.route", "unknown"), ("http.request.method", "GET"), ("error.type", "503")]
        Counter(label: "hb.request.errors", dimensions: dimensions, factory: factory).increment(by: 0)
    }

    @concurrent func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let method = Self.methods.contains(request.method) ? request.method.rawValue : "other"
        let start = ContinuousClock.now
        let active = active(method)
        active.increment()
        do {
            var response = try await next(request, context)
            let (body, status) = (response.body, response.status.code)
            response.body = ResponseBody(contentLength: body.contentLength) { [self] writer in
                defer { count(context.endpointPath, method: method, status: status, since: start, active: active) }
                try await body.write(writer)
            }
            return response
        } catch {
            let status = (error as? any HTTPResponseError)?.status.code ?? 500
            count(context.endpointPath, method: method, status: status, since: start, active: active)
            throw error
        }
    }

    private static var methods: [HTTPRequest.Method] { [.get, .head, .post, .put, .delete, .options, .patch] }

    private func active(_ method: String) -> Meter {
        state.withLock { state in
            if let known = state.active[method] { return known }
            let made = Meter(
                label: "http.server.active_requests", dimensions: [("http.request.method", method)], factory: factory)
            state.active[method] = made
            return made
        }
    }

    private func count(
        _ route: String?, method: String, status: Int, since start: ContinuousClock.Instant, active: Meter
    ) {
        let reply = reply(ReplyID(route: route ?? "unknown", method: method, status: status))
        reply.count.increment()
        reply.errorCount?.increment()
        reply.duration.recordNanoseconds(Int64(start.duration(to: .now) / .nanoseconds(1)))
        active.decrement()
    }

    private func reply(_ id: ReplyID) -> Reply {
        state.withLock { state in
            if let known = state.replies[id] { return known }
            let place = [("http.route", id.route), ("http.request.method", id.method)]
            let dimensions = place + [("http.response.status_code", "\(id.status)")]
            let made = Reply(
                count: Counter(label: "hb.requests", dimensions: dimensions, factory: factory),
                duration: Timer(
                    label: "http.server.request.duration", dimensions: dimensions, preferredDisplayUnit: .seconds,
                    factory: factory),
                errorCount: id.status < 500
                    ? nil
                    : Counter(
                        label: "hb.request.errors", dimensions: place + [("error.type", "\(id.status)")],
                        factory: factory))
            state.replies[id] = made
            return made
        }
    }
}
