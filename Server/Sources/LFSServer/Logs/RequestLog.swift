public import Hummingbird
public import Logging

/// A middleware that logs each request when its reply has been sent, or cut off.
///
/// A line has the level info and the fields `request` (the id in the reply's `x-request-id`), `method`, `route`,
/// `peer`, `status`, `milliseconds`, and `account` and `session` if the request has a valid token. Both are hashes. The
/// route is the pattern of the path, because the path itself may contain a key, and the query a signature. Requests of
/// health checks have the level debug.
///
/// Add it before other middlewares. All other lines that the work for a request logs have its `request` too, if the log
/// handler uses ``metadataProvider``.
public struct RequestLog<Context: RecordedContext>: RouterMiddleware {
    private let logger: Logger
    private let trust: ForwardedTrust

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - logger: receives the lines.
    ///   - trust: the rule for the address of a client behind proxies.
    public init(logger: Logger, trust: ForwardedTrust = .none) {
        self.logger = logger
        self.trust = trust
    }

    /// Answers a request with the routes.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let entry = Entry(
            request, context: context, peer: context.peer(of: request, trust: trust))
        var response: Response
        do {
            response = try await RequestScope.$id.withValue(entry.id) { try await next(request, context) }
        } catch {
            entry.log("A request has failed.", status: nil, to: logger)
            throw error
        }
        let body = response.body
        let status = response.status.code
        response.body = ResponseBody(contentLength: body.contentLength) { [logger] writer in
            do {
                try await RequestScope.$id.withValue(entry.id) { try await body.write(writer) }
            } catch {
                entry.log("A reply was cut off.", status: status, to: logger)
                throw error
            }
            entry.log("A request was answered.", status: status, to: logger)
        }
        return response
    }

    /// The line of a request.
    private struct Entry: Sendable {
        let id: String
        private let method: String
        private let peer: String
        private let context: Context
        private let start = ContinuousClock.now

        init(_ request: Request, context: Context, peer: String) {
            id = context.requestID ?? ""
            // A client may send any text.
            method = String(request.method.rawValue.prefix(16))
            self.peer = peer
            self.context = context
        }

        func log(_ message: Logger.Message, status: Int?, to logger: Logger) {
            let route = context.endpointPath ?? "NotFound"
            let isProbe = route.hasPrefix("/health")
            let time = start.duration(to: .now) / .milliseconds(1)
            var metadata: Logger.Metadata = [
                "request": "\(id)", "method": "\(method)", "route": "\(route)", "peer": "\(peer)",
                "milliseconds": .stringConvertible((time * 10).rounded() / 10),
            ]
            if let status { metadata["status"] = .stringConvertible(status) }
            if let account = context.record.account { metadata["account"] = "\(account)" }
            if let session = context.record.session { metadata["session"] = "\(session)" }
            logger.log(level: isProbe ? .debug : .info, message, metadata: metadata)
        }
    }
}

extension RequestLog where Context == ServerContext {
    /// A provider of the field `request`, for the lines that the work for a request logs.
    public static var metadataProvider: Logger.MetadataProvider {
        Logger.MetadataProvider { RequestScope.id.map { ["request": "\($0)"] } ?? [:] }
    }
}

/// The request that the current task works for.
enum RequestScope {
    @TaskLocal static var id: String?
}
