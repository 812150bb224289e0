import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Speaks to the sync server.
struct SyncServer: Sendable {
    let base: Endpoint
    let transport: any HTTPTransport
    let token: @Sendable () async throws -> String

    /// Streams into a feed; returns when the reply has come in whole.
    func stream(_ request: SyncStreamRequest, into feed: LineFeed) async throws {
        let reply = ResponseBody.sink({ try feed.take($0) }, accept: { $0.status == 200 })
        let response: HTTPResponse
        do {
            response = try await send("/v1/sync/stream", try WireFormat.encode(request), reply, "application/json")
        } catch {
            // What was wrong with a line, in whatever words the transport has put it.
            throw feed.failure ?? error
        }
        try Self.require(response, 200)
        feed.finish()
    }

    func acknowledge(_ batch: SyncAckBatch) async throws {
        let response = try await send(
            "/v1/sync/ack", try WireFormat.encode(batch), .bytes(limit: 1 << 20), "application/json")
        try Self.require(response, 204)
    }

    /// The result of each mutation.
    ///
    /// - Parameter own: whose rows the changes are of; nil before this device knows.
    func push(_ lines: [String], of own: SyncScope?) async throws -> [SyncMutationResult] {
        let lines = (own.map { [SyncOwner.line($0)] } ?? []) + lines
        let body = Data((lines.joined(separator: "\n") + "\n").utf8)
        let response = try await send(
            "/v1/sync/push", body, .bytes(limit: 8 << 20), "application/jsonlines+json")
        try Self.require(response, 200)
        return try Self.lines(of: response, "result") { try SyncMutationResult($0) }
    }

    /// Which rows the account may read.
    func digests(_ types: [SyncType], of own: SyncScope?) async throws -> [SyncDigest] {
        var request = SyncStreamRequest(types: types.map { [$0] })
        request.account = own
        let response = try await send(
            "/v1/sync/digest", try WireFormat.encode(request), .bytes(limit: 8 << 20), "application/json")
        try Self.require(response, 200)
        return try Self.lines(of: response, "digest") { try WireFormat.decode(SyncDigest.self, from: Data($0), .reply) }
    }

    /// The types that the server shares, with their columns.
    func schema() async throws -> ServerSchema {
        let response = try await send("/v1/sync/schema", nil, .bytes(limit: 1 << 20), "application/json")
        try Self.require(response, 200)
        do {
            return try WireFormat.decode(ServerSchema.self, from: Data(response.body), ServerSchema.limits)
        } catch {
            throw SyncError(.unexpectedReply, "The server answered with something that is no schema.", cause: error)
        }
    }

    /// The id of the account with a name; nil when there is none.
    func account(named name: String) async throws -> String? {
        let response = try await send(
            "/v1/sync/account", try WireFormat.encode(SyncAccountRequest(name: name)), .bytes(limit: 1 << 16),
            "application/json")
        try Self.require(response, 200)
        do {
            return try WireFormat.decode(SyncAccountReply.self, from: Data(response.body), .reply).id
        } catch {
            throw SyncError(.unexpectedReply, "The server answered with something that is no account.", cause: error)
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
            throw SyncError(.unexpectedReply, "The server answered with something that is no \(name).", cause: error)
        }
        return lines
    }

    private func send(
        _ path: String, _ body: Data?, _ reply: ResponseBody, _ type: String
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(
            body == nil ? .get : .post, base.origin, base.path + path, body: body.map { .bytes(Array($0)) } ?? .none,
            reply: reply)
        // A fifth of the bytes, for half a second of both sides' processors in 100,000 rows of files.
        if case .sink = reply {
            request.acceptsGzip = true
            request.isLive = true
        }
        try request.headers.set("authorization", try BearerField.value(try await sessionToken()))
        if body != nil { try request.headers.set("content-type", type) }
        do {
            return try await transport.send(request)
        } catch let error as HTTPError where error.code == .cancelled {
            throw CancellationError()
        } catch let error as HTTPError {
            throw SyncError(
                .unavailable, "The sync server could not be reached: \(error.message.sentence)", cause: error)
        }
    }

    private func sessionToken() async throws -> String {
        do {
            return try await token()
        } catch let error where error is CancellationError || error is SyncError {
            throw error
        } catch {
            // Its text is for a person, as that of all errors of this package.
            throw SyncError(
                .noToken, "The app has no token for the sync server: sign in again. \(error.localizedDescription)",
                cause: error)
        }
    }

    private static func require(_ response: HTTPResponse, _ status: Int) throws(SyncError) {
        guard response.status != status else { return }
        let failure = try? WireFormat.decode(Refusal.self, from: Data(response.body), .reply).error
        let words = failure.map { ServerText.excerpt($0.message) } ?? "It answered with the status \(response.status)."
        switch response.status {
        case 403 where failure?.code == .otherAccount: throw SyncError.ofOtherAccount
        case 401:
            throw SyncError(.unauthorized, "The sync server does not know this session: sign in again. \(words)")
        case 409: throw SyncError(.forked, "The server and this device do not agree on what has come before. \(words)")
        case 422: throw SyncError(.unknownType, "The server does not share what this app wants. \(words)")
        case 300..<400:
            let target = response.headers["location"].map { " to \(ServerText.excerpt($0))" } ?? ""
            throw SyncError(
                .unexpectedReply,
                "The sync server redirects\(target), where no token is sent. Use that URL, if you trust it.")
        case 404, 405, 501:
            throw SyncError(
                .unexpectedReply, "There is no sync server at this URL, or an older one. Check the URL. \(words)")
        case 429, 500...599:
            var error = SyncError(
                .unavailable, "The sync server asks for patience. \(words)",
                retryAfter: RetryAfter.parse(response.headers, now: Date())?.components.seconds)
            error.isThrottled = response.status == 429
            throw error
        default: throw SyncError(.unexpectedReply, "The sync server refuses the request. \(words)")
        }
    }

    /// The types that a server shares, as it names them.
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

        /// The names of a type's columns; nil for a type that the server does not share.
        func columns(of type: SyncType) -> Set<String>? {
            types.first { $0.type == type.description }.map { Set($0.columns.map(\.name)) }
        }
    }

    private struct Refusal: Decodable {
        let error: WireFailure
    }
}

/// `Authorization: Bearer …` (RFC 6750).
enum BearerField {
    /// - Throws: ``SyncError/Code/unauthorized`` for a token that no header field can carry.
    static func value(_ token: String) throws(SyncError) -> String {
        guard (1...4_096).contains(token.utf8.count), token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw SyncError(.unauthorized, "The token of the sync session is empty, or has characters that none has.")
        }
        return "Bearer " + token
    }
}

extension String {
    /// With a full stop, which the words of libraries lack.
    fileprivate var sentence: String { last.map { ".!?".contains($0) } == true ? self : self + "." }
}
