/// A line of a stream, as a device reads it.
package enum SyncLine: Hashable, Sendable {
    /// A row as it is now.
    case row(SyncRow, SyncToken)
    /// A row is gone.
    case deletion(key: String, SyncToken)
    /// Everything of a type in a scope has come, up to the token's position.
    ///
    /// - Parameter isFull: whether the stream began at the first row.
    case reached(SyncToken, isFull: Bool)
    /// The device may not read a scope any more: what no other scope gives it goes.
    case scopeDeleted(SyncToken)
    /// Everything that was there when the stream began has come. The only end that is one, but for the next two.
    case complete(SyncToken)
    case reset(SyncReset, SyncToken)
    case failure(SyncStreamFailure)
    case heartbeat
    /// Of a newer server, and to be passed over.
    case unknown
}

/// The device begins anew: all of it, or some types or scopes.
package struct SyncReset: Hashable, Sendable {
    /// Why.
    package struct Reason: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The device was away for longer than deletions are remembered.
        package static let retention = Reason(rawValue: "retention")
        /// The device has asked for it.
        package static let requested = Reason(rawValue: "requested")
        /// Somebody who runs the server has.
        package static let `operator` = Reason(rawValue: "operator")
        /// The device's database is an older copy of itself.
        package static let copy = Reason(rawValue: "copy")
        /// The server's is, so that the device may know more than it does.
        package static let history = Reason(rawValue: "history")
    }

    package let reason: Reason
    /// nil for all.
    package let types: [SyncType]?
    /// nil for all.
    package let scopes: [SyncScope]?

    package init(_ reason: Reason, types: [SyncType]? = nil, scopes: [SyncScope]? = nil) {
        (self.reason, self.types, self.scopes) = (reason, types, scopes)
    }
}

/// Why a stream has ended before its time.
package struct SyncStreamFailure: Hashable, Sendable {
    package let code: String
    /// A sentence for a person. It holds no secret.
    package let message: String
    package let isRetryable: Bool
    /// Seconds.
    package let retryAfter: Int64?

    package init(_ code: String, _ message: String, isRetryable: Bool, retryAfter: Int64? = nil) {
        (self.code, self.message, self.isRetryable, self.retryAfter) = (code, message, isRetryable, retryAfter)
    }
}

extension SyncLine {
    /// What control lines are called. In the tokens of the first three stand these names as well.
    package enum Name {
        package static let scopeDeleted = "ScopeDeleteV1"
        package static let complete = "SyncCompleteV1"
        package static let reset = "SyncResetV1"
        package static let reached = "SyncAckV1"
        package static let failure = "SyncErrorV1"
        package static let heartbeat = "SyncHeartbeatV1"

        fileprivate static let control = [scopeDeleted, complete, reset, reached, failure, heartbeat]
    }

    /// The members of a line, before anybody has looked at what they mean.
    struct Members {
        var type: String?
        var scope: SyncScope?
        var token: SyncToken?
        var data: UnsafeRawBufferPointer?
        /// `data`, where type and token came before it and say that it is a row's.
        var row: SyncRow?
        /// Where the token stands, without its quotes.
        var tokenPlace = 0..<0
        /// Where `data` begins; nil unless it is the last member.
        var dataStart: Int?

        /// Whether the line is a row or a deletion of what its token names.
        var isOfRow: Bool {
            guard let type, let known = token?.place.type, !Name.control.contains(type) else { return false }
            return type == known.description || type == known.deletion
        }
    }

    /// The scope of the account's own rows, where the line is about all that the account has.
    package var ownScope: SyncScope? {
        switch self {
        case .complete(let token): token.place.scope
        case .reset(let reset, let token) where reset.types == nil && reset.scopes == nil: token.place.scope
        default: nil
        }
    }

    /// - Parameter own: the scope of lines that name none; nil when nobody knows it yet.
    /// - Throws: ``WireFailure/Code/invalidRequest``.
    package init(_ bytes: UnsafeRawBufferPointer, own: SyncScope?) throws {
        try self.init(try Members(bytes), own)
    }

    /// Of a row, a deletion, or the end of a type.
    var rowScope: SyncScope? {
        switch self {
        case .row(_, let token), .deletion(_, let token), .reached(let token, _): token.place.scope
        default: nil
        }
    }

    init(_ members: Members, _ own: SyncScope?) throws {
        guard let type = members.type else { throw WireFailure(.invalidRequest, "A line has no 'type'.") }
        switch type {
        case Name.heartbeat: self = .heartbeat
        case Name.failure: self = .failure(try SyncStreamFailure(members.data))
        case Name.complete: self = .complete(try Self.token(members))
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
        default: self = try Self.ofRow(type, members, own)
        }
    }

    private static func ofRow(_ type: String, _ members: Members, _ own: SyncScope?) throws -> SyncLine {
        guard let token = members.token else { return .unknown }
        let scope = token.place.scope
        guard members.scope.map({ $0 == scope }) ?? (scope.kind == SyncScope.accountKind && scope == own ?? scope)
        else {
            throw WireFailure(.invalidRequest, "A line is of another scope than its token.")
        }
        let isDeletion = type == token.place.type.deletion
        // Neither a row nor a deletion of what its token names: a newer server's.
        guard isDeletion || type == token.place.type.description else { return .unknown }
        let row = try members.row ?? Self.row(members.data)
        guard isDeletion else { return .row(row, token) }
        guard let key = row.text("id") else { throw WireFailure(.invalidRequest, "A deletion has no 'id'.") }
        return .deletion(key: key, token)
    }

    private static func row(_ data: UnsafeRawBufferPointer?) throws -> SyncRow {
        guard let data else { throw WireFailure(.invalidRequest, "A line has no 'data'.") }
        var scanner = JSONScanner(data)
        return try SyncRow(&scanner)
    }

    private static func token(_ members: Members) throws(WireFailure) -> SyncToken {
        guard let token = members.token else { throw WireFailure(.invalidRequest, "A line has no 'ack'.") }
        return token
    }
}

extension SyncLine.Members {
    /// - Parameter columns: those that the row has most likely.
    init(_ bytes: UnsafeRawBufferPointer, like columns: [String] = []) throws {
        var scanner = JSONScanner(bytes)
        // Of the members that mean nothing here.
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
            guard isNew else { throw WireFailure(.invalidRequest, "A line has a member twice.") }
            dataStart = nil
            switch name {
            case "type": type = try scanner.text()
            case "scope":
                scope = SyncScope(try scanner.text())
                if scope == nil { throw WireFailure(.invalidRequest, "A line has a 'scope' that is none.") }
            case "ack":
                scanner.skipBlanks()
                let start = scanner.offset + 1
                token = SyncToken(try scanner.text())
                tokenPlace = start..<scanner.offset - 1
                if token == nil { throw WireFailure(.invalidRequest, "A line has an 'ack' that is none.") }
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
        guard let reason else { throw WireFailure(.invalidRequest, "A reset has no 'reason'.") }
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
        self.init(code, message, isRetryable: isRetryable, retryAfter: retryAfter)
    }
}
