/// Why something was refused, as it stands in a reply: `{"code": …, "message": …}`.
package struct WireFailure: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The kind of failure. More kinds may come; a reader takes those that it does not know for ``serverError``.
    package struct Code: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package var description: String { rawValue }

        /// There is no such object.
        package static let missing = Code(rawValue: "missing")
        /// The caller has no right to it, whether it is there or not.
        package static let forbidden = Code(rawValue: "forbidden")
        /// The key breaks the rules for keys.
        package static let invalidKey = Code(rawValue: "invalid_key")
        /// The request cannot be right: a member is missing or out of its range.
        package static let invalidRequest = Code(rawValue: "invalid_request")
        /// The object is larger than the server takes, or the message is.
        package static let tooLarge = Code(rawValue: "too_large")
        /// What the store has is not what was named.
        package static let integrity = Code(rawValue: "integrity")
        /// The upload in parts is not known any more, or its token is not one of this server's: begin anew.
        package static let lostUpload = Code(rawValue: "lost_upload")
        /// Parts are missing. Ask for the upload's state and send them.
        package static let incomplete = Code(rawValue: "incomplete")
        /// It goes on, and takes longer than a request may: ask the same again.
        package static let inProgress = Code(rawValue: "in_progress")
        /// A type of rows, or a version of one, that the server does not have.
        package static let unknownType = Code(rawValue: "unknown_type")
        /// A column that the server does not have. Servers before 0.2 say ``invalidRequest`` instead.
        package static let unknownColumn = Code(rawValue: "unknown_column")
        /// The device and the server do not agree on what has come before.
        package static let outOfStep = Code(rawValue: "out_of_step")
        /// The row has changed since the device saw it.
        package static let stale = Code(rawValue: "stale")
        /// The session is another account's than the one whose rows the device has.
        package static let otherAccount = Code(rawValue: "other_account")
        /// Too much at once: try again later.
        package static let throttled = Code(rawValue: "throttled")
        /// The store has no room.
        package static let noSpace = Code(rawValue: "no_space")
        /// The store behind the server is away or refuses the server: about no single object.
        package static let unavailable = Code(rawValue: "unavailable")
        /// The store answered too late.
        package static let timeout = Code(rawValue: "timeout")
        /// Something failed on the server's side.
        package static let serverError = Code(rawValue: "server_error")
        /// The request needs a token, or another one. It comes with the status 401 only.
        package static let unauthorized = Code(rawValue: "unauthorized")
    }

    package var code: Code
    /// A sentence for a person. It holds no secret.
    package var message: String
    /// Seconds to wait before the next try.
    package var retryAfter: Int64?

    package init(_ code: Code, _ message: String, retryAfter: Int64? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var description: String { message }

    private enum Keys: String, CodingKey {
        case code, message
        case retryAfter = "retry_after"
    }

    package init(from decoder: any Decoder) throws {
        let fields = try CheckedFields(decoder, Keys.self)
        code = Code(
            rawValue: try fields.required(.code, "a word of at most 64 letters and '_'") {
                (1...64).contains($0.utf8.count)
                    && $0.utf8.allSatisfy { $0.isBetween("a", "z") || $0 == UInt8(ascii: "_") }
            })
        message = try fields.optional(.message, "a text of at most 1024 bytes") { $0.utf8.count <= 1_024 } ?? ""
        retryAfter = try fields.number(.retryAfter)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
    }

    /// What was wrong with a message, without a word of it.
    init(decoding error: any Error) {
        if let failure = error as? WireFailure {
            self = failure
        } else if case DecodingError.dataCorrupted(let context) = error,
            let failure = context.underlyingError as? WireFailure
        {
            self = failure
        } else {
            self.init(.invalidRequest, "The message is not what the protocol says.")
        }
    }
}
