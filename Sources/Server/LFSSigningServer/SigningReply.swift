public import Foundation
import LFSWire

/// A reply that the web framework sends to a client.
public struct SigningReply: Sendable {
    /// The status code.
    public let status: Int
    /// The header fields, with names in lowercase.
    public let headers: [String: String]
    /// The body in JSON.
    public let body: Data

    /// The reply to a request without a token, or with an unknown token: 401.
    public static var unauthorized: SigningReply {
        SigningReply(401, failure: WireFailure(.unauthorized, message: "The request needs a valid token."))
    }

    /// Returns the reply to a request with an unknown path or method: 404 or 405.
    public static func unknownRequest(status: Int) -> SigningReply {
        SigningReply(status, failure: WireFailure(.invalidRequest, message: "There is no such request."))
    }

    /// The reply to a request with a body above the limit: 413.
    public static var tooLarge: SigningReply {
        SigningReply(413, failure: WireFailure(.tooLarge, message: "The request is too large."))
    }

    /// Returns the reply to a caller with too many requests or connections, which the client may repeat: 429.
    ///
    /// - Parameter message: a sentence for the client that names the limit. nil sends a general one.
    public static func throttled(message: String? = nil) -> SigningReply {
        let message = message ?? "The account has too many requests or connections."
        return SigningReply(429, failure: WireFailure(.throttled, message: message, retryAfter: 5))
    }

    /// The reply to a request that the server cannot answer now and the client may repeat: 503.
    public static var unavailable: SigningReply {
        SigningReply(
            503,
            failure: WireFailure(.unavailable, message: "The server cannot answer the request now.", retryAfter: 5))
    }

    /// The reply to a request at which the server itself has failed: 500.
    public static var failed: SigningReply {
        SigningReply(
            500, failure: WireFailure(.serverError, message: "The server has failed. See its log."))
    }

    init(_ status: Int, failure: WireFailure) {
        var headers = Self.fields
        if status == 401 { headers["www-authenticate"] = "Bearer" }
        if let seconds = failure.retryAfter { headers["retry-after"] = String(seconds) }
        self.init(status, headers: headers, message: SigningRefusal(failure))
    }

    init(_ message: some Encodable) { self.init(200, headers: Self.fields, message: message) }

    private init(_ status: Int, headers: [String: String], message: some Encodable) {
        do {
            body = try WireFormat.encode(message)
            self.status = status
            self.headers = headers
        } catch {
            // No message of the protocol causes this.
            body = Data(#"{"version":1,"error":{"code":"server_error","message":"The reply cannot be written."}}"#.utf8)
            self.status = 500
            self.headers = headers
        }
    }

    private static let fields = [
        "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff",
    ]
}
