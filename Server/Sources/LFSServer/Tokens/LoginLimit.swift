public import Hummingbird
import LFSSigningServer

/// A middleware that refuses requests with a token from an address with too many failed logins. The reply is 429, and
/// the token is not looked up.
public struct LoginLimit<Context: RecordedContext>: RouterMiddleware {
    private let logins: FailedLogins
    private let trust: ForwardedTrust

    /// Creates the middleware.
    ///
    /// - Parameters:
    ///   - logins: the failed logins of each address.
    ///   - trust: the rule for the address of a client behind proxies.
    public init(_ logins: FailedLogins, trust: ForwardedTrust = .none) {
        self.logins = logins
        self.trust = trust
    }

    /// Answers a request with the routes, unless its address has too many failures.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let token = BearerToken.text(of: request) else { return try await next(request, context) }
        let address = context.peer(of: request, trust: trust)
        guard logins.permits(token, from: address) else {
            return Response(.throttled(message: "This address has too many failed logins."))
        }
        let response = try await next(request, context)
        if response.status == .unauthorized {
            logins.record(token, from: address, isValid: false)
        } else if context.record.account != nil {
            // Routes without a login accept any token.
            logins.record(token, from: address, isValid: true)
        }
        return response
    }
}
