public import Foundation
import LFSWire

/// What a web framework sends back to a client.
public struct SigningReply: Sendable {
    /// The status code.
    public let status: Int
    /// Names in lowercase, and their values.
    public let headers: [String: String]
    /// JSON.
    public let body: Data

    /// Of a request without a token, or with one that nobody knows: 401.
    public static var unauthorized: SigningReply {
        SigningReply(401, WireFailure(.unauthorized, "The request needs a valid token."))
    }

    /// Of a request to a path or with a method that there is not: 404 or 405.
    public static func unknownRequest(status: Int) -> SigningReply {
        SigningReply(status, WireFailure(.invalidRequest, "There is no such request."))
    }

    /// Of a body that is longer than a request may be: 413.
    public static var tooLarge: SigningReply {
        SigningReply(413, WireFailure(.tooLarge, "The request is too long."))
    }

    /// Of a request that the server cannot answer now: 503, to be tried again.
    public static var unavailable: SigningReply {
        SigningReply(503, WireFailure(.unavailable, "The server cannot do that now.", retryAfter: 5))
    }

    /// Of a request at which the server itself has failed: 500.
    public static var failed: SigningReply {
        SigningReply(500, WireFailure(.serverError, "The server could not do that. Its log says why."))
    }

    init(_ status: Int, _ failure: WireFailure) {
        var headers = Self.fields
        if status == 401 { headers["www-authenticate"] = "Bearer" }
        if let seconds = failure.retryAfter { headers["retry-after"] = String(seconds) }
        self.init(status, headers, SigningRefusal(failure))
    }

    init(_ message: some Encodable) { self.init(200, Self.fields, message) }

    private init(_ status: Int, _ headers: [String: String], _ message: some Encodable) {
        do {
            body = try WireFormat.encode(message)
            (self.status, self.headers) = (status, headers)
        } catch {
            // No message of the wire brings this about.
            body = Data(#"{"version":1,"error":{"code":"server_error","message":"The reply cannot be written."}}"#.utf8)
            (self.status, self.headers) = (500, headers)
        }
    }

    private static let fields = [
        "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff",
    ]
}
