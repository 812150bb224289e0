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
    private let trustsForwardedFor: Bool

    /// Creates the middleware.
    ///
    /// - Parameter trustsForwardedFor: true if a proxy in front adds the client's address to `X-Forwarded-For`. The log
    ///   then contains the last address of this field, because the proxy added it. The client can forge the others. The
    ///   default is false.
    public init(trustsForwardedFor: Bool = false) { self.trustsForwardedFor = trustsForwardedFor }

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
                "A request failed.", metadata: ["kind": "\(type(of: error))", "peer": "\(peer(of: request, context))"])
            response = Response(.failed)
        }
        if response.status == .unauthorized {
            context.logger.notice(
                "A login failed.", metadata: ["peer": "\(peer(of: request, context))"])
        }
        if let name = HTTPField.Name("x-request-id"), let id = context.requestID { response.headers[name] = id }
        return response
    }

    private func peer(of request: Request, _ context: Context) -> String {
        let address = (context as? any ConnectionContext)?.channel.remoteAddress?.ipAddress ?? ""
        guard trustsForwardedFor, let name = HTTPField.Name("x-forwarded-for"),
            let last = request.headers[values: name].last?.split(separator: ",").last
        else { return address }
        let forwarded = last.filter { $0 != " " }
        let isAddress = forwarded.utf8.count <= 45 && forwarded.allSatisfy { $0.isHexDigit || $0 == "." || $0 == ":" }
        return isAddress ? String(forwarded) : address
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

extension RequestContext {
    /// The id of the request in the log, or nil if the log handler does not store metadata. Hummingbird keeps the id in
    /// the logger. Its own property `id` crashes without stored metadata.
    public var requestID: String? { logger[metadataKey: "hb.request.id"].map { "\($0)" } }
}
