public import Foundation
import LFSSystem
import LFSWire
public import Logging
import Synchronization

/// A service that answers the requests of an app's devices that share rows, in any web framework or function host.
///
/// The host passes in bodies and bearer tokens, and returns the replies unchanged. The page "The protocol of sync" of
/// the module `LFSWire` describes the messages.
public final class SyncService: Sendable {
    let database: any SQLDatabase
    let schema: CheckedSchema
    let options: SyncServiceOptions
    let logger: Logger
    private let streams: OpenStreams
    private let times: LiveTimes
    let rate: RequestRate?
    private let tokens: KnownTokens
    /// The turns of accounts. One push, digest or change of checkpoints of an account at a time uses the database, so
    /// that no account keeps the others from it.
    let turns = KeyedMutex<String>()
    private let counted = Mutex(SyncCounts())
    /// The clock that measures the duration of a push.
    let clock: @Sendable () -> ContinuousClock.Instant

    /// Opens the store, creates missing tables, and adds the new parts of the schema.
    ///
    /// - Parameters:
    ///   - database: a database that only this service uses.
    ///   - schema: the tables that the devices share.
    ///   - options: the closures of the host, and the limits of the service.
    ///   - logger: receives ids of sessions and numbers, but never a token or a value of a row.
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
        clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, version: StoreVersion = .current
    ) async throws {
        self.database = database
        self.clock = clock
        self.options = options
        self.times = times
        streams = OpenStreams(database, times: times, logger: logger) { Milliseconds.of(options.now()) }
        tokens = KnownTokens(now: options.now)
        rate = options.requestsPerSecond.map { RequestRate(perSecond: $0, now: options.now) }
        self.schema = try CheckedSchema(schema)
        try self.schema.requireTables(ofConflicts: options.conflicts.keys)
        self.logger = logger
        let store = try SyncStore(
            database, schema: schema, version: version, logger: logger, clock: times.clock)
        try await store.migrate()
    }

    /// The maximum size of a request's body in bytes.
    public static let largestRequest = SyncMutation.byteLimit

    /// Ends streams that stay open, so that no client waits for them. Later streams end at once.
    public func shutdown() { streams.stop() }

    /// Checks at once whether open streams have something new.
    func poke() { streams.poke() }

    /// Returns the link to the other servers, or nil if the database has none.
    func link() -> ServerLink? { streams.observe() }

    /// The number of streams that are being sent.
    public var streamCount: Int { streams.count }

    /// The numbers of requests and changes since the start.
    public var counts: SyncCounts { counted.withLock { $0 } }

    // MARK: Sessions

    /// Returns the account of a token's session, for other services of the same server. Nil for a token without a
    /// session.
    ///
    /// - Throws: ``SQLFailure``.
    public func account(ofToken token: String) async throws -> String? {
        try await session(ofToken: token)?.account
    }

    /// Returns the account and the rights of a token's session, for other services of the same server. Nil for a token
    /// without a session.
    ///
    /// - Throws: ``SQLFailure``.
    public func access(ofToken token: String) async throws -> (account: String, rights: SyncSessionRights)? {
        try await session(ofToken: token).map { ($0.account, $0.rights) }
    }

    private func session(ofToken token: String) async throws -> SyncSession? {
        guard SessionToken.isOne(token) else { return nil }
        let now = Milliseconds.of(options.now())
        return try await database.read { try SessionTable.session(ofToken: token, at: now, $0) }
    }

    /// Returns the account of a token's session as of the last minute, without a read of the database for each request.
    /// Nil for a token without a session.
    ///
    /// The session may have ended since. The result is meant for limits, and for refusing the body of a request early.
    ///
    /// - Throws: ``SQLFailure``.
    public func recentAccount(ofToken token: String) async throws -> String? {
        guard SessionToken.isOne(token) else { return nil }
        return try await tokens.account(ofToken: token) { try await account(ofToken: token) }
    }

    /// Creates a session for a device of an account, and the account if no account has that name.
    ///
    /// - Parameters:
    ///   - account: the name of the account.
    ///   - device: the name of the session in lists.
    ///   - lifetime: the maximum duration of the session, however often it is used. Nil if it only expires after
    ///     ``SyncServiceOptions/sessionIdleTime``.
    ///   - latestEnd: the time at which the session ends at the latest, or nil.
    ///   - rights: the requests that the session permits.
    /// - Returns: the session's token, which is not stored anywhere.
    /// - Throws: ``SyncSessionError`` if the account has too many sessions or the rights name an unknown type,
    ///   ``SQLFailure``.
    public func addSession(
        account: String, device: String = "", lifetime: Duration? = nil, latestEnd: Date? = nil,
        rights: SyncSessionRights = .init()
    ) async throws -> String {
        let now = Milliseconds.of(options.now())
        var terms = SessionTable.Terms(device: device, rights: try rights.named(in: schema))
        terms.idleTime = options.sessionIdleTime.map(Milliseconds.of)
        terms.endsAt = SessionTable.end(at: now, lifetime: lifetime, latestEnd: latestEnd)
        let token = SessionToken.make()
        let hash = SessionTable.hash(token)
        let sessionLimit = options.sessionLimit
        let people = schema.sharing.people.map { PeopleSQL(people: $0, dialect: database.dialect) }
        _ = try await database.write { [terms] db in
            try SessionTable.removeExpired(of: account, at: now, db)
            let id = try SessionTable.account(named: account, db)
            // The scope is locked before the account, as by a push.
            try people?.add(account: account, db)
            let limit = try AccountTable.heldSessionLimit(account: account, db) ?? Int64(sessionLimit)
            let count = try SessionTable.count(account: account, db)
            guard count < limit else {
                throw SyncSessionError(
                    code: .tooMany,
                    message: """
                        The account has \(count) sessions, and the limit is \(limit). Revoke one that is not used, or \
                        give the account a larger limit.
                        """
                )
            }
            return try SessionTable.add(account: id, tokenHash: hash, terms: terms, at: now, db)
        }
        return token
    }

    /// Moves the end of a session that its identity provider has confirmed again. The session keeps its token and its
    /// state.
    ///
    /// - Parameters:
    ///   - token: the token of the session.
    ///   - account: the name of the account that the provider has confirmed.
    ///   - lifetime: the new maximum duration from now on, or nil for no limit.
    ///   - latestEnd: the time at which the session ends at the latest, or nil.
    /// - Throws: ``SyncSessionError/Code/unknownSession`` if the account has no session with that token,
    ///   ``SQLFailure``.
    public func extendSession(
        token: String, account: String, lifetime: Duration? = nil, latestEnd: Date? = nil
    ) async throws {
        let now = Milliseconds.of(options.now())
        let endsAt = SessionTable.end(at: now, lifetime: lifetime, latestEnd: latestEnd)
        // A client with invented tokens must not occupy the writer.
        var isKnown = try await self.account(ofToken: token) != nil
        if isKnown {
            isKnown = try await database.write {
                try SessionTable.extend(token, account: account, until: endsAt, at: now, $0)
            }
        }
        guard isKnown else {
            throw SyncSessionError(
                code: .unknownSession, message: "The account has no session with this token. Open another session.")
        }
    }

    /// Returns the id of an account, or nil if no account has that name. Rows that share something refer to an account
    /// by this id.
    ///
    /// The host decides which accounts a user may look up. Devices can ask for an id only if
    /// ``SyncServiceOptions/namesAccounts`` is set.
    ///
    /// - Throws: ``SQLFailure``.
    public func account(named name: String) async throws -> String? {
        try await database.read {
            try $0.firstText("SELECT id FROM sync_account WHERE name = ?1", arguments: [.text(name)])
        }
    }

    // MARK: Rate limit

    /// Counts a request to another service of the same server towards the rate limit of an account.
    ///
    /// - Parameter name: the name of the account.
    /// - Returns: the reply to send if the account exceeds the limit, or nil.
    /// - Throws: ``SQLFailure``.
    public func throttled(account name: String) async throws -> SyncReply? {
        guard let rate else { return nil }
        // An account that does not exist yet has no id. No id has the form of this text.
        return Self.throttled(rate, account: try await account(named: name) ?? "new account \(name)")
    }

    /// Counts a request to another service of the same server towards the rate limit of a session's account.
    ///
    /// - Returns: the reply to send if the account exceeds the limit, or nil. Nil for a token without a session.
    /// - Throws: ``SQLFailure``.
    public func throttled(token: String) async throws -> SyncReply? {
        guard let rate, let account = try await account(ofToken: token) else { return nil }
        return Self.throttled(rate, account: account)
    }

    private static func throttled(_ rate: RequestRate, account: String) -> SyncReply? {
        do throws(WireFailure) {
            try rate.take(account)
            return nil
        } catch {
            return SyncReply(error)
        }
    }

    // MARK: Requests

    /// Answers `POST …/v1/sync/stream`.
    public func stream(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let request = try WireFormat.decode(SyncStreamRequest.self, from: body, limits: .sync)
            try session.requireOwner(request.account)
            let types = try types(of: request)
            try session.rights.requireAll(types.map(\.type))
            var session = session
            let now = Milliseconds.of(options.now())
            if session.isDue(at: now) {
                try await database.write { [session] in try SessionTable.see(session.id, at: now, $0) }
            }
            if let batch = request.acks, !session.has(batch) {
                session = try await acknowledge(batch, session: session, token: token, isClaim: true)
            }
            if request.resets, session.resetReason == nil {
                // The device receives nothing else until it has acknowledged that it starts over.
                _ = try await database.write { [session] in try SessionTable.require(.requested, of: session.id, $0) }
                return .lines(reset(.requested, session: session))
            }
            if let reason = session.resetReason { return .lines(reset(reason, session: session)) }
            return try await opened(types, session: session, request: request)
        }
    }

    /// Answers `POST …/v1/sync/ack`.
    public func acknowledge(_ body: Data, token: String?) async -> SyncReply {
        await answering(token) { [self] session in
            let batch = try WireFormat.decode(SyncAckBatch.self, from: body, limits: .sync)
            try session.requireOwner(batch.account)
            _ = try await acknowledge(batch, session: session, token: token)
            return .done
        }
    }

    /// Answers `POST …/v1/sync/push`.
    public func push(_ body: Data, token: String?) async -> SyncReply {
        await replying { [self] in
            // The transaction of the push checks the token again.
            guard let token, let account = try await recentAccount(ofToken: token) else { throw WireFailure.noSession }
            try rate?.take(account)
            let mutations = try Self.mutations(body, of: account)
            var pushing = MutationApply(schema: schema, dialect: database.dialect, conflicts: options.conflicts)
            let now = Milliseconds.of(options.now())
            if let exists = options.objectExists {
                guard let session = try await session(ofToken: token) else { throw WireFailure.noSession }
                pushing.withoutObject = try await FileObjects(exists: exists).missing(
                    in: mutations, of: session, database)
            }
            pushing.quota = options.quota
            pushing.byteCount = body.count
            pushing.removesAt = options.removalDelay.map { now + Milliseconds.of($0) }
            // A mutation costs one unit. Those that were not applied are given back, also when the push fails.
            rate?.charge(account, units: mutations.count)
            var appliedCount = 0
            let work = WorkTime(clock)
            // The notices of this commit are sent together with those of others.
            streams.observe()
            defer {
                let cost = max(appliedCount, RequestRate.cost(of: work.total))
                rate?.charge(account, units: cost - mutations.count)
            }
            let results: [SyncMutationResult]
            do {
                results = try await turns.withTurn(account) {
                    try await applied(mutations, by: pushing, token: token, at: now, work: work)
                }
            } catch let failure as WireFailure where failure.code == .unauthorized {
                tokens.forget(token)
                throw failure
            }
            appliedCount = results.count
            counted.withLock { $0.add(results) }
            var lines: [UInt8] = []
            for result in results { result.write(to: &lines) }
            return .lines(lines)
        }
    }

    // MARK: Helpers

    private func opened(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], session: SyncSession, request: SyncStreamRequest
    ) async throws -> SyncReply {
        let (isLive, isEmpty) = (request.isLive, request.isEmpty)
        let (begun, plan) = try await self.plan(types, session: session, isEmpty: isEmpty, sent: StreamPlan.Sent())
        let database = database
        let source = SyncStream.Source(
            database: database, session: begun, ticket: streams.open(begun, isLive: isLive), logger: logger,
            live: isLive ? times : nil,
            planned: { [self] sent in
                let now = Milliseconds.of(options.now())
                guard try await database.read({ try SessionTable.isCurrent(begun, at: now, $0) }) else { return nil }
                return try await self.plan(types, session: begun, sent: sent)
            })
        return .stream(SyncStream(source: source, plan: plan))
    }

    /// Returns the plan of a stream and the session at that time. Writes only if segments have started or expired.
    private func plan(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], session: SyncSession, isEmpty: Bool = false,
        sent: StreamPlan.Sent
    ) async throws -> (SyncSession, StreamPlan) {
        let (sharing, typeCount) = (schema.sharing, schema.typeNames.count)
        let plan = try await database.read {
            try StreamPlan(types, sharing: sharing, of: session, isEmpty: isEmpty, sent: sent, $0)
        }
        if plan.fresh.isEmpty, plan.newlyExpired.isEmpty { return (session, plan) }
        let now = Milliseconds.of(options.now())
        return try await writing(for: session.account) { db in
            let plan = try StreamPlan(types, sharing: sharing, of: session, isEmpty: isEmpty, sent: sent, db)
            try CheckpointTable.begin(
                plan.fresh.map { ($0.place, $0.end) }, of: session, types: typeCount, at: now, db)
            if plan.newlyExpired.isEmpty { return (session, plan) }
            try CheckpointTable.restart(
                plan.newlyExpired.map { ($0.place, $0.end) }, reason: .retention, of: session, at: now, db)
            return (session.inNextEpoch, plan)
        }
    }

    private func reset(_ reason: SyncReset.Reason, session: SyncSession) -> [UInt8] {
        var lines: [UInt8] = []
        ControlLines(session: session).reset(reason, place: nil, to: &lines)
        return lines
    }

    /// Records acks and returns the session after that.
    ///
    /// - Parameter isClaim: true if the device says with an empty list that the server has the batch.
    private func acknowledge(
        _ batch: SyncAckBatch, session: SyncSession, token: String?, isClaim: Bool = false
    ) async throws -> SyncSession {
        let now = Milliseconds.of(options.now())
        let types = Set(schema.typeNames)
        return try await writing(for: session.account) { db in
            guard let token, let session = try SessionTable.session(ofToken: token, at: now, changing: true, db) else {
                throw WireFailure(.unauthorized, message: "The session has ended.")
            }
            do {
                try CheckpointTable.apply(batch, of: session, types: types, isClaim: isClaim, at: now, db)
            } catch let failure as AckFailure {
                try SessionTable.require(failure.resetReason, of: session.id, db)
            }
            return try SessionTable.session(ofToken: token, at: now, db) ?? session
        }
    }

    /// Writes in one transaction, in the account's turn. Charges the account for the time that the transaction uses the
    /// database, as for a push. Ten requests are left in any case, because a device has to acknowledge all that it
    /// receives.
    func writing<Value: Sendable>(
        for account: String, _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        let work = WorkTime(clock)
        defer { rate?.charge(account, units: RequestRate.cost(of: work.total), leaving: 10) }
        return try await turns.withTurn(account) {
            try await database.write { db in try work.measure { try body(db) } }
        }
    }

    /// Returns the best version of each type that both sides know, parents first.
    func types(
        of request: SyncStreamRequest
    ) throws(WireFailure) -> [(table: CheckedSchema.Table, type: SyncType)] {
        var found: [String: SyncType] = [:]
        for alternatives in request.types {
            guard let type = alternatives.first(where: { schema.table(of: $0) != nil }) else {
                throw WireFailure(
                    .unknownType,
                    message:
                        "The server has no '\(alternatives[0])'. It has: \(schema.typeNames.joined(separator: ", ")).")
            }
            found[type.name] = type
        }
        return schema.tables.compactMap { table in found[table.typeName].map { (table, $0) } }
    }

    private static func mutations(_ body: Data, of account: String) throws -> [SyncMutation] {
        guard body.count <= SyncMutation.byteLimit else {
            throw WireFailure(
                .tooLarge,
                message: "A request may have at most \(SyncMutation.byteLimit) bytes of mutations.")
        }
        var splitter = LineSplitter()
        var mutations: [SyncMutation] = []
        body.withUnsafeBytes { splitter.append($0) }
        var isFirst = true
        while try splitter.next({ line in
            let owner = isFirst ? try SyncOwner.read(line) : nil
            isFirst = false
            if let owner {
                try SyncSession.requireOwner(owner, account: account)
            } else {
                mutations.append(try SyncMutation(line))
            }
        }) {
            guard mutations.count <= SyncMutation.limit else {
                throw WireFailure(.tooLarge, message: "A request may have at most \(SyncMutation.limit) mutations.")
            }
        }
        // A last line without its line ending was cut off.
        guard splitter.waitingCount == 0 else {
            throw WireFailure(.invalidRequest, message: "The last mutation is incomplete.")
        }
        return mutations
    }

    /// Finds the session of a token, runs a body, and converts any error into a reply.
    func answering(
        _ token: String?, _ body: @Sendable (SyncSession) async throws -> SyncReply
    ) async -> SyncReply {
        await replying {
            guard let token, let session = try await session(ofToken: token) else { throw WireFailure.noSession }
            try rate?.take(session.account)
            return try await body(session)
        }
    }

    private func replying(_ body: () async throws -> SyncReply) async -> SyncReply {
        do {
            return try await body()
        } catch let failure as WireFailure {
            if failure.code == .throttled { counted.withLock { $0.throttled += 1 } }
            return SyncReply(failure)
        } catch is CancellationError {
            return SyncReply(WireFailure(.unavailable, message: "The server is stopping.", retryAfter: 5))
        } catch {
            logger.error("A request has failed.", metadata: ["error": "\(error)"])
            return SyncReply(WireFailure(error))
        }
    }
}

extension WireFailure {
    static let noSession = WireFailure(.unauthorized, message: "The request needs the token of a session.")
}

extension WireFailure {
    fileprivate init(_ error: any Error) {
        let failure = SyncStreamFailure(error)
        self.init(.init(rawValue: failure.code), message: failure.message, retryAfter: failure.retryAfter)
    }
}

extension StrictJSON.Limits {
    /// The limits of requests, which fit a thousand acks and as many types.
    static let sync = StrictJSON.Limits(byteCount: 1 << 20, valueCount: 4_000)
}
