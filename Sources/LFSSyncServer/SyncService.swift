public import Foundation
import LFSSystem
import LFSWire
public import Logging

/// Answers the requests of an app's devices that share rows, in any web framework or function host.
///
/// The host hands over bodies and bearer tokens; the replies go back as they are. The wire is described on the page
/// "The protocol of sync" of the module `LFSWire`.
public final class SyncService: Sendable {
    let database: any SQLDatabase
    let schema: CheckedSchema
    let options: SyncServiceOptions
    let logger: Logger
    private let streams: OpenStreams
    private let times: LiveTimes
    private let rate: RequestRate?
    /// For the time that a push takes.
    let clock: @Sendable () -> ContinuousClock.Instant

    /// Opens the store, makes its tables where there are none, and adds what the schema has come to have.
    ///
    /// - Parameters:
    ///   - database: nobody else's.
    ///   - schema: what the devices share.
    ///   - options: what it asks its host, and how much it takes.
    ///   - logger: gets ids of sessions and numbers, never a token or a value of a row.
    /// - Throws: ``SyncSchemaError``, ``SyncStoreError``, ``SQLFailure``.
    public convenience init(
        _ database: any SQLDatabase, schema: SyncSchema, options: SyncServiceOptions = SyncServiceOptions(),
        logger: Logger = Logger(label: "lfs.sync")
    ) async throws {
        let times = LiveTimes(longest: options.longestStream)
        try await self.init(database, schema: schema, options: options, logger: logger, times: times)
    }

    init(
        _ database: any SQLDatabase, schema: SyncSchema, options: SyncServiceOptions, logger: Logger, times: LiveTimes,
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) async throws {
        self.database = database
        self.clock = clock
        self.options = options
        self.times = times
        streams = OpenStreams(database, times, logger)
        rate = options.requestsPerSecond.map { RequestRate(perSecond: $0, now: options.now) }
        self.schema = try CheckedSchema(schema)
        try self.schema.requireTables(ofConflicts: options.conflicts.keys)
        self.logger = logger
        try await SyncStore(database, schema: schema).migrate()
    }

    /// Bytes of a request's body.
    public static let largestRequest = SyncMutation.byteLimit

    /// Ends streams that stay open, so that nobody waits for them. Those that come yet end at once.
    public func shutdown() { streams.stop() }

    /// Looks at once whether open streams have something new.
    func poke() { streams.poke() }

    /// How many streams are being sent.
    public var streamCount: Int { streams.count }

    // MARK: Sessions

    /// Whose session a token is of, for other services of the same server; nil for nobody's.
    ///
    /// - Throws: ``SQLFailure``.
    public func account(ofToken token: String) async throws -> String? {
        guard SessionToken.isOne(token) else { return nil }
        let now = Milliseconds.of(options.now())
        return try await database.read { try SessionTable.session(ofToken: token, at: now, $0)?.account }
    }

    /// Makes a session for a device of an account, and the account where there is none of that name.
    ///
    /// - Parameters:
    ///   - account: its name.
    ///   - device: what the session is called in lists.
    ///   - lifetime: how long it lasts; nil for as long as nobody revokes it.
    /// - Returns: the session's token, which is nowhere else.
    /// - Throws: ``SyncSessionError`` when the account has too many, ``SQLFailure``.
    public func addSession(
        account: String, device: String = "", lifetime: Duration? = nil
    ) async throws -> String {
        let now = Milliseconds.of(options.now())
        let expiresAt = lifetime.map { now + Milliseconds.of($0) }
        let token = SessionToken.make()
        let hash = SessionTable.hash(token)
        let limit = options.sessionLimit
        _ = try await database.write { db in
            try SessionTable.removeExpired(of: account, at: now, db)
            let count = try SessionTable.count(account: account, db)
            guard count < limit else {
                throw SyncSessionError(
                    code: .tooMany,
                    message: "The account has \(count) sessions, and \(limit) is the most: revoke one that is not used."
                )
            }
            return try SessionTable.add(
                account: account, tokenHash: hash, device: device, at: now, expiresAt: expiresAt, db)
        }
        return token
    }

    /// The id of an account, by which rows that share something name it; nil when there is none of that name.
    ///
    /// Whom a user may look up is the host's to decide: no request of a device answers it.
    ///
    /// - Throws: ``SQLFailure``.
    public func account(named name: String) async throws -> String? {
        try await database.read { try $0.firstText("SELECT id FROM sync_account WHERE name = ?1", [.text(name)]) }
    }

    // MARK: Requests

    /// Answers `POST …/v1/sync/stream`.
    public func stream(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let request = try WireFormat.decode(SyncStreamRequest.self, from: body, .sync)
            try session.requireOwner(request.account)
            let types = try types(of: request)
            var session = session
            let now = Milliseconds.of(options.now())
            if now - session.seenAt > Milliseconds.day {
                try await database.write { [session] in try SessionTable.see(session, at: now, $0) }
            }
            if let batch = request.acks, !session.has(batch) { session = try await acknowledge(batch, session, token) }
            if request.resets, session.resetReason == nil {
                // Until the device has said that it begins anew, nothing else is sent.
                _ = try await database.write { [session] in try SessionTable.require(.requested, of: session.id, $0) }
                return .lines(reset(.requested, session))
            }
            if let reason = session.resetReason { return .lines(reset(reason, session)) }
            return try await opened(types, session, request)
        }
    }

    /// Answers `POST …/v1/sync/ack`.
    public func acknowledge(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let batch = try WireFormat.decode(SyncAckBatch.self, from: body, .sync)
            try session.requireOwner(batch.account)
            _ = try await acknowledge(batch, session, token)
            return .done
        }
    }

    /// Answers `POST …/v1/sync/push`.
    public func push(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let mutations = try Self.mutations(body, of: session)
            var pushing = MutationApply(schema: schema, dialect: database.dialect, conflicts: options.conflicts)
            if let exists = options.objectExists {
                pushing.withoutObject = try await FileObjects(exists: exists).missing(
                    in: mutations, of: session, database)
            }
            let now = Milliseconds.of(options.now())
            pushing.removesAt = options.removalDelay.map { now + Milliseconds.of($0) }
            rate?.charge(session.account, mutations: mutations.count)
            let results = try await applied(mutations, by: pushing, token: token, at: now)
            rate?.charge(session.account, mutations: results.count - mutations.count)
            streams.poke()
            var lines: [UInt8] = []
            for result in results { result.write(to: &lines) }
            return .lines(lines)
        }
    }

    // MARK: Parts

    private func opened(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], _ session: SyncSession, _ request: SyncStreamRequest
    ) async throws -> SyncReply {
        let (isLive, isEmpty) = (request.isLive, request.isEmpty)
        let (begun, plan) = try await self.plan(types, session, isEmpty: isEmpty, StreamPlan.Sent())
        let database = database
        let source = SyncStream.Source(
            database: database, session: begun, ticket: streams.open(begun, isLive: isLive), logger: logger,
            live: isLive ? times : nil,
            planned: { [self] sent in
                guard try await database.read({ try SessionTable.isCurrent(begun, $0) }) else { return nil }
                return try await self.plan(types, begun, sent)
            })
        return .stream(SyncStream(source: source, plan: plan))
    }

    /// What a stream has to send, and the session as it is then. An idle one writes nothing.
    private func plan(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], _ session: SyncSession, isEmpty: Bool = false,
        _ sent: StreamPlan.Sent
    ) async throws -> (SyncSession, StreamPlan) {
        let sharing = schema.sharing
        let plan = try await database.read {
            try StreamPlan(types, sharing, of: session, isEmpty: isEmpty, sent: sent, $0)
        }
        if plan.fresh.isEmpty, plan.newlyExpired.isEmpty { return (session, plan) }
        return try await database.write { db in
            let plan = try StreamPlan(types, sharing, of: session, isEmpty: isEmpty, sent: sent, db)
            try CheckpointTable.begin(plan.fresh.map { ($0.place, $0.end) }, of: session, db)
            if plan.newlyExpired.isEmpty { return (session, plan) }
            try CheckpointTable.restart(plan.newlyExpired.map { ($0.place, $0.end) }, .retention, of: session, db)
            return (session.inNextEpoch, plan)
        }
    }

    private func reset(_ reason: SyncReset.Reason, _ session: SyncSession) -> [UInt8] {
        var lines: [UInt8] = []
        ControlLines(session: session).reset(reason, nil, to: &lines)
        return lines
    }

    /// The session after the acks.
    private func acknowledge(
        _ batch: SyncAckBatch, _ session: SyncSession, _ token: String?
    ) async throws -> SyncSession {
        let now = Milliseconds.of(options.now())
        let types = Set(schema.typeNames)
        return try await database.write { db in
            guard let token, let session = try SessionTable.session(ofToken: token, at: now, changing: true, db) else {
                throw WireFailure(.unauthorized, "The session has ended.")
            }
            do {
                try CheckpointTable.apply(batch, of: session, types: types, db)
            } catch let failure as AckFailure {
                try SessionTable.require(failure == .olderCopy ? .copy : .history, of: session.id, db)
            }
            return try SessionTable.session(ofToken: token, at: now, db) ?? session
        }
    }

    /// The best version of each type that both know, parents first.
    func types(
        of request: SyncStreamRequest
    ) throws(WireFailure) -> [(table: CheckedSchema.Table, type: SyncType)] {
        var found: [String: SyncType] = [:]
        for alternatives in request.types {
            guard let type = alternatives.first(where: { schema.table(of: $0) != nil }) else {
                throw WireFailure(
                    .unknownType,
                    "The server has no '\(alternatives[0])'. It has: \(schema.typeNames.joined(separator: ", ")).")
            }
            found[type.name] = type
        }
        return schema.tables.compactMap { table in found[table.typeName].map { (table, $0) } }
    }

    private static func mutations(_ body: Data, of session: SyncSession) throws -> [SyncMutation] {
        guard body.count <= SyncMutation.byteLimit else {
            throw WireFailure(.tooLarge, "A request has at most \(SyncMutation.byteLimit) bytes of mutations.")
        }
        var splitter = LineSplitter()
        var mutations: [SyncMutation] = []
        body.withUnsafeBytes { splitter.append($0) }
        var isFirst = true
        while try splitter.next({ line in
            let owner = isFirst ? try SyncOwner.read(line) : nil
            isFirst = false
            if let owner { try session.requireOwner(owner) } else { mutations.append(try SyncMutation(line)) }
        }) {
            guard mutations.count <= SyncMutation.limit else {
                throw WireFailure(.tooLarge, "A request has at most \(SyncMutation.limit) mutations.")
            }
        }
        // A last line without its end was cut off.
        guard splitter.waitingCount == 0 else { throw WireFailure(.invalidRequest, "The last mutation is cut off.") }
        return mutations
    }

    /// Finds the session, and turns whatever fails into a reply.
    func answering(
        _ token: String?, _ body: @Sendable (SyncSession) async throws -> SyncReply
    ) async -> SyncReply {
        do {
            let now = Milliseconds.of(options.now())
            guard let token, SessionToken.isOne(token),
                let session = try await database.read({ try SessionTable.session(ofToken: token, at: now, $0) })
            else { throw WireFailure(.unauthorized, "This needs the token of a session.") }
            try rate?.take(session.account)
            return try await body(session)
        } catch let failure as WireFailure {
            return SyncReply(failure)
        } catch is CancellationError {
            return SyncReply(WireFailure(.unavailable, "The server is ending.", retryAfter: 5))
        } catch {
            logger.error("A request has failed.", metadata: ["error": "\(error)"])
            return SyncReply(WireFailure(error))
        }
    }
}

extension WireFailure {
    fileprivate init(_ error: any Error) {
        let failure = SyncStreamFailure(error)
        self.init(.init(rawValue: failure.code), failure.message, retryAfter: failure.retryAfter)
    }
}

extension StrictJSON.Limits {
    /// A thousand acks, and as many types.
    static let sync = StrictJSON.Limits(byteCount: 1 << 20, valueCount: 4_000)
}
