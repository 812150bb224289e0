/// A limit of an account, as the result of a mutation contains it: `"limit":"rows","value":1000`.
package struct ExceededLimit: Hashable, Sendable {
    /// The name of the limit: `rows`, `row_bytes`, `file_bytes` or `namespaces`. Later versions may add more.
    package let name: String
    package let value: Int64

    /// - Parameters:
    ///   - name: the name of the limit, as a server has sent it.
    ///   - value: the largest permitted value.
    package init?(checking name: String?, value: Int64?) {
        guard let name, let value, (1...64).contains(name.utf8.count), value >= 0,
            name.utf8.allSatisfy({ $0.isBetween("a", last: "z") || $0 == UInt8(ascii: "_") })
        else { return nil }
        self.init(name: name, value: value)
    }

    package init(name: String, value: Int64) {
        self.name = name
        self.value = value
    }
}

/// The reason for a refusal, as a reply contains it: `{"code": …, "message": …}`.
package struct WireFailure: Error, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The kind of failure. Later versions may add more. A reader treats an unknown kind as ``serverError``.
    package struct Code: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
        package var description: String { rawValue }

        /// The object does not exist.
        package static let missing = Code(rawValue: "missing")
        /// The caller has no right to the object, whether it exists or not.
        package static let forbidden = Code(rawValue: "forbidden")
        /// The key breaks the rules for keys.
        package static let invalidKey = Code(rawValue: "invalid_key")
        /// The request is invalid: a member is missing or out of range.
        package static let invalidRequest = Code(rawValue: "invalid_request")
        /// The object or the message is larger than the server accepts.
        package static let tooLarge = Code(rawValue: "too_large")
        /// The stored object differs from the one that the request describes.
        package static let integrity = Code(rawValue: "integrity")
        /// The upload in parts no longer exists, or its token is not from this server. Start the upload again.
        package static let lostUpload = Code(rawValue: "lost_upload")
        /// Parts are missing. Request the upload's state and send them.
        package static let incomplete = Code(rawValue: "incomplete")
        /// The operation continues and takes longer than a request may. Send the same request again.
        package static let inProgress = Code(rawValue: "in_progress")
        /// A type of rows, or a version of it, that the server does not have.
        package static let unknownType = Code(rawValue: "unknown_type")
        /// A column that the server does not have. Servers before 0.2 return ``invalidRequest`` instead.
        package static let unknownColumn = Code(rawValue: "unknown_column")
        /// The device and the server disagree about the history.
        package static let outOfStep = Code(rawValue: "out_of_step")
        /// The row has changed since the device last received it.
        package static let stale = Code(rawValue: "stale")
        /// The session belongs to a different account than the rows on the device.
        package static let otherAccount = Code(rawValue: "other_account")
        /// The session may only read.
        package static let readOnly = Code(rawValue: "read_only")
        /// The session may not use a type.
        package static let typeNotAllowed = Code(rawValue: "type_not_allowed")
        /// The caller has sent too much at once. Try again later.
        package static let throttled = Code(rawValue: "throttled")
        /// The change exceeds a limit of the account. It may be sent again later.
        package static let quotaExceeded = Code(rawValue: "quota_exceeded")
        /// The store is full.
        package static let noSpace = Code(rawValue: "no_space")
        /// The store behind the server is unreachable or refuses the server. The failure does not concern a single
        /// object.
        package static let unavailable = Code(rawValue: "unavailable")
        /// The store answered too late.
        package static let timeout = Code(rawValue: "timeout")
        /// The server failed.
        package static let serverError = Code(rawValue: "server_error")
        /// The request needs a token, or a different one. Used only with the status 401.
        package static let unauthorized = Code(rawValue: "unauthorized")
    }

    package var code: Code
    /// A sentence for the user. It contains no secrets.
    package var message: String
    /// The delay in seconds before the next attempt.
    package var retryAfter: Int64?
    /// The limit that the change exceeds. Only results of mutations contain it.
    package var exceeded: ExceededLimit?

    package init(_ code: Code, message: String, retryAfter: Int64? = nil) {
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
        let fields = try CheckedFields(decoder, keys: Keys.self)
        code = Code(
            rawValue: try fields.required(.code, rule: "a word of at most 64 letters and '_'") {
                (1...64).contains($0.utf8.count)
                    && $0.utf8.allSatisfy { $0.isBetween("a", last: "z") || $0 == UInt8(ascii: "_") }
            })
        message = try fields.optional(.message, rule: "a text of at most 1024 bytes") { $0.utf8.count <= 1_024 } ?? ""
        retryAfter = try fields.number(.retryAfter)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Keys.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encodeIfPresent(retryAfter, forKey: .retryAfter)
    }

    /// Creates a failure that describes what is wrong with a message without quoting it.
    init(decoding error: any Error) {
        if let failure = error as? WireFailure {
            self = failure
        } else if case DecodingError.dataCorrupted(let context) = error,
            let failure = context.underlyingError as? WireFailure
        {
            self = failure
        } else {
            self.init(.invalidRequest, message: "The message does not conform to the protocol.")
        }
    }
}
