public import Foundation
import LFSWire

/// A reply of the server.
public struct SyncReply: Sendable {
    /// The body of a reply.
    public enum Body: Sendable {
        /// No body.
        case none
        /// A body that is complete in memory.
        case whole(Data)
        /// A body that is read in pieces while it is sent.
        case stream(SyncStream)
    }

    /// The status code.
    public let status: Int
    /// The header fields, with names in lowercase.
    public let headers: [String: String]
    /// The body.
    public let body: Body

    static let done = SyncReply(status: 204, headers: [:], body: .none)

    static func lines(_ bytes: [UInt8]) -> SyncReply {
        SyncReply(status: 200, headers: lineHeaders, body: .whole(Data(bytes)))
    }

    static func object(_ bytes: [UInt8]) -> SyncReply {
        let headers = ["content-type": "application/json", "cache-control": "no-store"]
        return SyncReply(status: 200, headers: headers, body: .whole(Data(bytes)))
    }

    static func stream(_ stream: SyncStream) -> SyncReply {
        SyncReply(status: 200, headers: lineHeaders, body: .stream(stream))
    }

    private static let lineHeaders = ["content-type": "application/jsonlines+json", "cache-control": "no-store"]

    init(status: Int, headers: [String: String], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// - Parameter failure: the failure, whose code determines the status.
    init(_ failure: WireFailure) {
        var headers = ["content-type": "application/json", "cache-control": "no-store"]
        if let seconds = failure.retryAfter { headers["retry-after"] = String(seconds) }
        if failure.code == .unauthorized { headers["www-authenticate"] = "Bearer" }
        var text: [UInt8] = Array("{\"error\":{\"code\":\"\(failure.code)\",\"message\":".utf8)
        SyncValue.write(failure.message, to: &text)
        text += "}}\n".utf8
        self.init(status: Self.status(of: failure.code), headers: headers, body: .whole(Data(text)))
    }

    private static func status(of code: WireFailure.Code) -> Int {
        switch code {
        case .invalidRequest: 400
        case .unauthorized: 401
        case .forbidden, .otherAccount, .readOnly, .typeNotAllowed: 403
        case .outOfStep: 409
        case .tooLarge: 413
        case .unknownType: 422
        case .throttled: 429
        case .serverError: 500
        default: 503
        }
    }
}
