import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A client for the requests to the sync server.
struct SyncHTTPClient: Sendable {
    let base: Endpoint
    let transport: any HTTPTransport
    let token: @Sendable () async throws -> String

    /// Streams lines into a feed. Returns when the reply is complete.
    func stream(_ request: SyncStreamRequest, into feed: LineBatcher) async throws {
        let reply = ResponseBody.sink({ try feed.take($0) }, accept: { $0.status == 200 })
        let response: HTTPResponse
        do {
            response = try await send(
                "/v1/sync/stream", try WireFormat.encode(request), reply: reply, type: "application/json")
        } catch {
            // The feed's error about a line, however the transport has wrapped it.
            throw feed.failure ?? error
        }
        try Self.require(response, status: 200)
        feed.finish()
    }

    func acknowledge(_ batch: SyncAckBatch) async throws {
        let response = try await send(
            "/v1/sync/ack", try WireFormat.encode(batch), reply: .bytes(limit: 1 << 20), type: "application/json")
        try Self.require(response, status: 204)
    }

    /// Sends changes and returns the result of each mutation.
    ///
    /// - Parameter own: the scope that owns the changed rows, or nil before this device knows it.
    func push(_ lines: [String], of own: SyncScope?) async throws -> [SyncMutationResult] {
        let lines = (own.map { [SyncOwner.line($0)] } ?? []) + lines
        let body = Data((lines.joined(separator: "\n") + "\n").utf8)
        let response = try await send(
            "/v1/sync/push", body, reply: .bytes(limit: 8 << 20), type: "application/jsonlines+json")
        try Self.require(response, status: 200)
        return try Self.lines(of: response, "result") { try SyncMutationResult($0) }
    }

    /// Returns digests of the rows that the account may read.
    func digests(_ types: [[SyncType]], of own: SyncScope?) async throws -> [SyncDigest] {
        var request = SyncStreamRequest(types: types)
        request.account = own
        let response = try await send(
            "/v1/sync/digest", try WireFormat.encode(request), reply: .bytes(limit: 8 << 20), type: "application/json")
        try Self.require(response, status: 200)
        return try Self.lines(of: response, "digest") {
            try WireFormat.decode(SyncDigest.self, from: Data($0), limits: .reply)
        }
    }

    /// Returns the types that the server shares, with their columns.
    func schema() async throws -> ServerSchema {
        let response = try await send("/v1/sync/schema", nil, reply: .bytes(limit: 1 << 20), type: "application/json")
        try Self.require(response, status: 200)
        do {
            return try WireFormat.decode(ServerSchema.self, from: Data(response.body), limits: ServerSchema.limits)
        } catch {
            throw SyncError(
                .unexpectedReply, message: "The server's reply is not a valid schema.", cause: error)
        }
    }

    /// Returns the id of the account with a name, or nil if no account has it.
    func account(named name: String) async throws -> String? {
        let response = try await send(
            "/v1/sync/account", try WireFormat.encode(SyncAccountRequest(name: name)), reply: .bytes(limit: 1 << 16),
            type: "application/json")
        try Self.require(response, status: 200)
        do {
            return try WireFormat.decode(SyncAccountReply.self, from: Data(response.body), limits: .reply).id
        } catch {
            throw SyncError(
                .unexpectedReply, message: "The server's reply is not a valid account.", cause: error)
        }
    }

    private static func lines<Line>(
        of response: HTTPResponse, _ name: String, _ read: (UnsafeRawBufferPointer) throws -> Line
    ) throws -> [Line] {
        var splitter = LineSplitter()
        var lines: [Line] = []
        do {
            response.body.withUnsafeBytes { splitter.append($0) }
            while try splitter.next({ lines.append(try read($0)) }) {}
        } catch {
            throw SyncError(
                .unexpectedReply, message: "The server's reply is not a valid \(name).", cause: error)
        }
        return lines
    }

    private func send(
        _ path: String, _ body: Data?, reply: ResponseBody, type: String
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(
            body == nil ? .get : .post, origin: base.origin, target: base.path + path,
            body: body.map { .bytes(Array($0)) } ?? .none,
            reply: reply)
        // Saves four fifths of the bytes. For 100,000 rows of files, it costs both sides half a second of processor
        // time.
        if case .sink = reply {
            request.acceptsGzip = true
            request.isLive = true
        }
        try request.headers.set("authorization", value: try BearerField.value(try await sessionToken()))
        if body != nil { try request.headers.set("content-type", value: type) }
        do {
            return try await transport.send(request)
        } catch let error as HTTPError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as HTTPError {
            let isPermanent = [.untrusted, .wrongProtocol].contains(error.code)
            throw SyncError(
                isPermanent ? .misconfigured : .unavailable,
                message: "The sync server could not be reached: \(error.message.sentence)", cause: error)
        }
    }

    private func sessionToken() async throws -> String {
        do {
            return try await token()
        } catch let error where error is CancellationError || error is SyncError {
            throw error
        } catch {
            // Its text is written for users, like that of all errors in this package.
            throw SyncError(
                .noToken,
                message: "The app has no token for the sync server. Sign in again. \(error.localizedDescription)",
                cause: error)
        }
    }

    private static func require(_ response: HTTPResponse, status: Int) throws(SyncError) {
        guard response.status != status else { return }
        let failure = try? WireFormat.decode(Refusal.self, from: Data(response.body), limits: .reply).error
        let words =
            failure.map { SanitizedErrorText.excerpt($0.message) } ?? "It answered with the status \(response.status)."
        switch response.status {
        case 400 where ErrorClassification.certificateAdvice(response.body) != nil:
            throw SyncError(
                .misconfigured,
                message: ErrorClassification.certificateAdvice(response.body) ?? words)
        case 403 where failure?.code == .otherAccount: throw SyncError.ofOtherAccount
        case 403 where failure?.code == .readOnly:
            throw SyncError(.readOnly, message: "This session may only read, so local changes are not sent. \(words)")
        case 403 where failure?.code == .typeNotAllowed:
            throw SyncError(.typeNotAllowed, message: "This session may not use all tables of this app. \(words)")
        case 401:
            throw SyncError(
                .unauthorized, message: "The sync server does not know this session. Sign in again. \(words)")
        case 409:
            throw SyncError(
                .forked, message: "The server and this device do not agree on the earlier changes. \(words)")
        case 422:
            throw SyncError(
                .unknownType, message: "The server does not sync the types that this app requests. \(words)")
        case 300..<400:
            let target = response.headers["location"].map { " to \(SanitizedErrorText.excerpt($0))" } ?? ""
            throw SyncError(
                .unexpectedReply,
                message: """
                    The sync server redirects\(target). The token is not sent there. Use that URL if you trust it.
                    """)
        case 404, 405, 501:
            throw SyncError(
                .unexpectedReply,
                message: "There is no sync server at this URL, or an older one. Check the URL. \(words)")
        case 429, 500...599:
            var error = SyncError(
                .unavailable, message: "The sync server cannot answer now. \(words)",
                retryAfter: RetryAfter.parse(response.headers, now: Date())?.components.seconds)
            error.isThrottled = response.status == 429
            throw error
        default: throw SyncError(.unexpectedReply, message: "The sync server refuses the request. \(words)")
        }
    }

    /// The types that a server shares, with the server's names for them.
    struct ServerSchema: Decodable {
        static let limits = StrictJSON.Limits(byteCount: 1 << 20, valueCount: 100_000)

        struct TypeEntry: Decodable {
            let type: String
            let columns: [Column]
        }

        struct Column: Decodable {
            let name: String
        }

        let types: [TypeEntry]

        /// Returns the best version of a table's rows that both sides know, with the names of its columns. Nil for a
        /// table that the server does not share.
        func best(of table: SyncedTable) -> (type: SyncType, columns: Set<String>)? {
            for type in table.types {
                guard let entry = types.first(where: { $0.type == type.description }) else { continue }
                return (type, Set(entry.columns.map(\.name)))
            }
            return nil
        }
    }

    private struct Refusal: Decodable {
        let error: WireFailure
    }
}

/// The header field `Authorization: Bearer …` (RFC 6750).
enum BearerField {
    /// Returns the value of the field.
    ///
    /// - Throws: ``SyncError/Code/unauthorized`` for a token that no header field can carry.
    static func value(_ token: String) throws(SyncError) -> String {
        guard (1...4_096).contains(token.utf8.count), token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SyncError(
                .unauthorized,
                message: "The token of the sync session is empty or contains characters that are not allowed.")
        }
        return "Bearer " + token
    }
}

extension String {
    /// The text with a full stop at its end, which messages of libraries often lack.
    fileprivate var sentence: String { last.map { ".!?".contains($0) } == true ? self : self + "." }
}
