/// A line of a stream, as a device reads it.
package enum SyncLine: Hashable, Sendable {
    /// The current version of a row.
    case row(SyncRow, SyncToken)
    /// The deletion of a row.
    case deletion(key: String, SyncToken)
    /// The end of a type in a scope: all of its rows up to the token's position were sent.
    ///
    /// - Parameter isFull: whether the stream started at the first row.
    case reached(SyncToken, isFull: Bool)
    /// The device may no longer read a scope. It removes the rows that no other scope supplies.
    case scopeDeleted(SyncToken)
    /// The regular end: everything that existed when the stream started was sent. Only a reset or a failure can end a
    /// stream instead.
    ///
    /// - Parameter history: the identity of the history of the server's database, or nil from an older server.
    case complete(SyncToken, history: String?)
    case reset(SyncReset, SyncToken)
    case failure(SyncStreamFailure)
    case heartbeat
    /// A line of a newer server, which the device ignores.
    case unknown
}

/// An instruction to start over, for the whole device or for some types or scopes.
package struct SyncReset: Hashable, Sendable {
    /// The reason for a reset.
    package struct Reason: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The device was away for longer than the server remembers deletions.
        package static let retention = Reason(rawValue: "retention")
        /// The device has asked for a reset.
        package static let requested = Reason(rawValue: "requested")
        /// An operator of the server has asked for a reset.
        package static let `operator` = Reason(rawValue: "operator")
        /// The device's database is an older copy of itself.
        package static let copy = Reason(rawValue: "copy")
        /// The server's database is an older copy of itself, so the device may have newer data.
        package static let history = Reason(rawValue: "history")
    }

    package let reason: Reason
    /// The affected types, or nil for all.
    package let types: [SyncType]?
    /// The affected scopes, or nil for all.
    package let scopes: [SyncScope]?

    package init(_ reason: Reason, types: [SyncType]? = nil, scopes: [SyncScope]? = nil) {
        self.reason = reason
        self.types = types
        self.scopes = scopes
    }
}

/// The reason why a stream has ended early.
package struct SyncStreamFailure: Hashable, Sendable {
    package let code: String
    /// A sentence for the user. It contains no secrets.
    package let message: String
    package let isRetryable: Bool
    /// The delay in seconds before the next attempt.
    package let retryAfter: Int64?

    package init(_ code: String, message: String, isRetryable: Bool, retryAfter: Int64? = nil) {
        self.code = code
        self.message = message
        self.isRetryable = isRetryable
        self.retryAfter = retryAfter
    }
}

extension SyncLine {
    /// The names of control lines. The tokens of the first three contain these names as their type.
    package enum Name {
        package static let scopeDeleted = "ScopeDeleteV1"
        package static let complete = "SyncCompleteV1"
        package static let reset = "SyncResetV1"
        package static let reached = "SyncAckV1"
        package static let failure = "SyncErrorV1"
        package static let heartbeat = "SyncHeartbeatV1"

        fileprivate static let control = [scopeDeleted, complete, reset, reached, failure, heartbeat]
    }

    /// The members of a line before they are interpreted.
    struct Members {
        var type: String?
        var scope: SyncScope?
        var token: SyncToken?
        var data: UnsafeRawBufferPointer?
        /// The parsed `data`, if the type and the token came before it and identify the line as a row.
        var row: SyncRow?
        /// The range of the token, without its quotes.
        var tokenPlace = 0..<0
        /// The start of `data`, or nil unless it is the last member.
        var dataStart: Int?

        /// True if the line is a row of the type in its token, or a deletion of such a row.
        var isOfRow: Bool {
            guard let type, let known = token?.place.type, !Name.control.contains(type) else { return false }
            return type == known.description || type == known.deletion
        }
    }

    /// The scope of the account's own rows, if the line is about everything that the account has.
    package var ownScope: SyncScope? {
        switch self {
        case .complete(let token, _): token.place.scope
        case .reset(let reset, let token) where reset.types == nil && reset.scopes == nil: token.place.scope
        default: nil
        }
    }

    /// Reads a line.
    ///
    /// - Parameter own: the scope of lines that name no scope, or nil if it is not known yet.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer, own: SyncScope?) throws {
        try self.init(try Members(bytes), own: own)
    }

    /// The scope of a row, a deletion, or the end of a type.
    var rowScope: SyncScope? {
        switch self {
        case .row(_, let token), .deletion(_, let token), .reached(let token, _): token.place.scope
        default: nil
        }
    }

    init(_ members: Members, own: SyncScope?) throws {
        guard let type = members.type else { throw WireFailure(.invalidRequest, message: "A line has no 'type'.") }
        switch type {
        case Name.heartbeat: self = .heartbeat
        case Name.failure: self = .failure(try SyncStreamFailure(members.data))
        case Name.complete:
            self = .complete(try Self.token(members), history: try Self.history(members.data))
        case Name.scopeDeleted: self = .scopeDeleted(try Self.token(members))
        case Name.reset: self = .reset(try SyncReset(members.data), try Self.token(members))
        case Name.reached:
            var isFull = false
            if let data = members.data {
                var scanner = JSONScanner(data)
                try scanner.object { scanner, name in
                    if name == "isFull" { isFull = try scanner.boolean() } else { try scanner.skip() }
                }
            }
            self = .reached(try Self.token(members), isFull: isFull)
        default: self = try Self.ofRow(type, members: members, own: own)
        }
    }

    private static func ofRow(_ type: String, members: Members, own: SyncScope?) throws -> SyncLine {
        guard let token = members.token else { return .unknown }
        let scope = token.place.scope
        guard members.scope.map({ $0 == scope }) ?? (scope.kind == SyncScope.accountKind && scope == own ?? scope)
        else {
            throw WireFailure(.invalidRequest, message: "A line names a scope other than that of its token.")
        }
        let isDeletion = type == token.place.type.deletion
        // A line of a newer server: neither a row of the type in its token nor a deletion.
        guard isDeletion || type == token.place.type.description else { return .unknown }
        let row = try members.row ?? Self.row(members.data)
        guard isDeletion else { return .row(row, token) }
        guard let key = row.text("id") else { throw WireFailure(.invalidRequest, message: "A deletion has no 'id'.") }
        return .deletion(key: key, token)
    }

    private static func row(_ data: UnsafeRawBufferPointer?) throws -> SyncRow {
        guard let data else { throw WireFailure(.invalidRequest, message: "A line has no 'data'.") }
        var scanner = JSONScanner(data)
        return try SyncRow(&scanner)
    }

    /// Reads the identity of the server's history. Returns nil for one that an ack could not contain.
    private static func history(_ data: UnsafeRawBufferPointer?) throws -> String? {
        guard let data else { return nil }
        var history: String?
        var scanner = JSONScanner(data)
        try scanner.object { scanner, name in
            if name == "history" { history = try scanner.text() } else { try scanner.skip() }
        }
        return history.flatMap { SyncAckBatch.isID($0) ? $0 : nil }
    }

    private static func token(_ members: Members) throws(WireFailure) -> SyncToken {
        guard let token = members.token else { throw WireFailure(.invalidRequest, message: "A line has no 'ack'.") }
        return token
    }
}

extension SyncLine.Members {
    /// Reads the members of a line.
    ///
    /// - Parameter columns: the columns that the row probably has.
    init(_ bytes: UnsafeRawBufferPointer, like columns: [String] = []) throws {
        var scanner = JSONScanner(bytes)
        // The names of unknown members.
        var others: Set<String> = []
        try scanner.object { scanner, name in
            let isNew =
                switch name {
                case "type": type == nil
                case "scope": scope == nil
                case "ack": token == nil
                case "data": data == nil && row == nil
                default: others.insert(name).inserted
                }
            guard isNew else { throw WireFailure(.invalidRequest, message: "A line has a member twice.") }
            dataStart = nil
            switch name {
            case "type": type = try scanner.text()
            case "scope":
                scope = SyncScope(try scanner.text())
                if scope == nil { throw WireFailure(.invalidRequest, message: "A line has an invalid 'scope'.") }
            case "ack":
                scanner.skipBlanks()
                let start = scanner.offset + 1
                token = SyncToken(try scanner.text())
                tokenPlace = start..<scanner.offset - 1
                if token == nil { throw WireFailure(.invalidRequest, message: "A line has an invalid 'ack'.") }
            case "data":
                dataStart = scanner.offset
                if isOfRow { row = try SyncRow(&scanner, like: columns) } else { data = try scanner.skip() }
            default: try scanner.skip()
            }
        }
        try scanner.end()
    }
}

extension SyncReset {
    fileprivate init(_ data: UnsafeRawBufferPointer?) throws {
        var reason: Reason?
        var types: [SyncType]?
        var scopes: [SyncScope]?
        if let data {
            var scanner = JSONScanner(data)
            try scanner.object { scanner, name in
                switch name {
                case "reason": reason = Reason(rawValue: try scanner.text())
                case "types":
                    var found: [SyncType] = []
                    try scanner.array { if let type = SyncType(try $0.text()) { found.append(type) } }
                    types = found
                case "scopes":
                    var found: [SyncScope] = []
                    try scanner.array { if let scope = SyncScope(try $0.text()) { found.append(scope) } }
                    scopes = found
                default: try scanner.skip()
                }
            }
        }
        guard let reason else { throw WireFailure(.invalidRequest, message: "A reset has no 'reason'.") }
        self.init(reason, types: types, scopes: scopes)
    }
}

extension SyncStreamFailure {
    fileprivate init(_ data: UnsafeRawBufferPointer?) throws {
        var (code, message, isRetryable, retryAfter) = ("server_error", "", true, Int64?.none)
        if let data {
            var scanner = JSONScanner(data)
            try scanner.object { scanner, name in
                switch name {
                case "code": code = String(try scanner.text().prefix(64))
                case "message": message = String(try scanner.text().prefix(1_024))
                case "isRetryable": isRetryable = try scanner.boolean()
                case "retryAfter": retryAfter = try scanner.wholeNumber()
                default: try scanner.skip()
                }
            }
        }
        self.init(code, message: message, isRetryable: isRetryable, retryAfter: retryAfter)
    }
}
