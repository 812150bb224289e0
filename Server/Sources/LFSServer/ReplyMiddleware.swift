import Foundation
import HTTPTypes
public import Hummingbird
import LFSSigningServer
import Logging

/// A middleware around all routes. Every reply contains its request id. Every failure has the protocol's form and
/// reveals no details of the server.
///
/// For each reply with 401 and each failed request, the log contains the client's address as `peer`.
public struct ReplyMiddleware<Context: RequestContext>: RouterMiddleware {
    private let trust: ForwardedTrust

    /// Creates the middleware.
    ///
    /// - Parameter trust: the rule for the address of a client behind proxies. By default, the log contains the address
    ///   of the connection.
    public init(trust: ForwardedTrust = .none) { self.trust = trust }

    /// Answers a request with the routes, and converts their errors to replies.
    ///
    /// - Throws: errors that make the connection unusable.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as HTTPError where error.status == .tooManyRequests {
            // Its message names the limit that the client has reached.
            response = Response(.throttled(message: error.body))
        } catch let error as any HTTPResponseError {
            response = Response(Self.reply(error.status.code))
        } catch is CancellationError {
            response = Response(.unavailable)
        } catch {
            // The text of the error may contain client data or a path of the store.
            context.logger.error(
                "A request failed.",
                metadata: [
                    "kind": "\(type(of: error))",
                    "peer": "\(context.peer(of: request, trust: trust))",
                ])
            response = Response(.failed)
        }
        if response.status == .unauthorized {
            context.logger.notice(
                "A login failed.",
                metadata: ["peer": "\(context.peer(of: request, trust: trust))"])
        }
        if let name = HTTPField.Name("x-request-id"), let id = context.requestID { response.headers[name] = id }
        return response
    }

    private static func reply(_ status: Int) -> SigningReply {
        switch status {
        case 401: .unauthorized
        case 413: .tooLarge
        case 429: .throttled()
        case 400..<500: .unknownRequest(status: status)
        case 503: .unavailable
        default: .failed
        }
    }
}
