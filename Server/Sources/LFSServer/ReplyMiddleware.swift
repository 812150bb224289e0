import Foundation
import HTTPTypes
public import Hummingbird
import LFSSigning
import Logging

/// Around all routes: every reply names its request, and every failure has the protocol's form and tells nothing of the
/// server's inside.
public struct ReplyMiddleware<Context: RequestContext>: RouterMiddleware {
    /// The same for every server.
    public init() {}

    /// Answers a request by the routes, and what they throw by itself.
    ///
    /// - Throws: what makes the connection useless.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch let error as any HTTPResponseError {
            response = Response(Self.reply(error.status.code))
        } catch is CancellationError {
            response = Response(.unavailable)
        } catch {
            // Its text may hold what a client has sent, or the way to a store.
            context.logger.error("A request failed.", metadata: ["kind": "\(type(of: error))"])
            response = Response(.failed)
        }
        if let name = HTTPField.Name("x-request-id") { response.headers[name] = context.id }
        return response
    }

    private static func reply(_ status: Int) -> SigningReply {
        switch status {
        case 401: .unauthorized
        case 413: .tooLarge
        case 400..<500: .unknownRequest(status: status)
        case 503: .unavailable
        default: .failed
        }
    }
}
