import LFSSystem
import LFSWire
import Logging
import Synchronization

/// The streams that are being sent. Each session has one: a newer stream ends the older one, also on another server.
///
/// The database reports which scopes a commit has changed, and which accounts have gained or lost access. A change of
/// rows wakes the streams whose accounts may read the scope, without a statement. After a change of access, a statement
/// reads the sessions of the account. A statement at a long interval reads all sessions and repairs lost notices. A
/// database that reports only the commits of this process needs a short interval.
///
/// The mutex owns the streams and the polling task. The task ends with the last stream.
final class OpenStreams: Sendable {
    private struct State {
        var entries: [String: OpenStream] = [:]
        /// The sessions that may read a scope, as of the last look.
        var readers: [String: Set<String>] = [:]
        /// The sessions to look at: new ones, and those whose access may have changed.
        var pending: Set<String> = []
        var isStopped = false
        var isLooking = false
        /// True if all sessions have to be looked at.
        var isPoked = false
        var isObserving = false
        /// The link to other servers, or nil if the database does not report their commits.
        var link: ServerLink?

        var hasLive: Bool { entries.values.contains(where: \.isLive) }

        /// Replaces the scopes that a session may read.
        mutating func route(_ stream: OpenStream, scopes: Set<String>) {
            // Another stream of the session may have replaced this one during the look.
            guard entries[stream.session] === stream else { return }
            let old = stream.replaceScopes(scopes)
            for scope in old.subtracting(scopes) { unroute(stream, scope: scope) }
            for scope in scopes.subtracting(old) { readers[scope, default: []].insert(stream.session) }
        }

        mutating func unroute(_ stream: OpenStream, scope: String) {
            readers[scope]?.remove(stream.session)
            if readers[scope]?.isEmpty == true { readers[scope] = nil }
        }
    }

    private let state = Mutex(State())
    private let wake = Signal()
    private let database: any SQLDatabase
    private let times: LiveTimes
    private let logger: Logger
    /// The current time in milliseconds since 1970.
    private let now: @Sendable () -> Int64

    init(_ database: any SQLDatabase, times: LiveTimes, logger: Logger, now: @escaping @Sendable () -> Int64) {
        self.database = database
        self.times = times
        self.logger = logger
        self.now = now
    }

    /// The number of open streams.
    var count: Int { state.withLock { $0.entries.count } }

    func open(_ session: SyncSession, isLive: Bool) -> OpenStream.Ticket {
        let link = observe()
        let stream = OpenStream(session, isLive: isLive)
        let (older, begins) = state.withLock { state in
            if state.isStopped { stream.end(.stopped) }
            let older = state.entries.updateValue(stream, forKey: session.id)
            if let older { for scope in older.replaceScopes([]) { state.unroute(older, scope: scope) } }
            let begins = isLive && !state.isLooking && !state.isStopped
            if begins { state.isLooking = true }
            if isLive { state.pending.insert(session.id) }
            return (older, begins)
        }
        older?.end(.replaced)
        link?.announce(.stream(session: session.id, id: stream.id))
        if begins {
            Task { await look() }
        } else if isLive {
            wake.notify()
        }
        return OpenStream.Ticket(stream) { [self] in remove(stream) }
    }

    /// Makes all waiting streams check for changes at once.
    func poke() {
        state.withLock { $0.isPoked = true }
        wake.notify()
    }

    /// Ends all streams, including later ones.
    func stop() {
        let entries = state.withLock { state in
            state.isStopped = true
            return Array(state.entries.values)
        }
        for entry in entries { entry.end(.stopped) }
        wake.notify()
    }

    private func remove(_ stream: OpenStream) {
        state.withLock { state in
            guard state.entries[stream.session] === stream else { return }
            for scope in stream.replaceScopes([]) { state.unroute(stream, scope: scope) }
            state.entries[stream.session] = nil
        }
    }

    // MARK: Notices

    /// Starts to receive the notices of the database. Calls after the first one only return the link.
    ///
    /// A process that pushes calls it too. PostgreSQL then sends the notices of its commits together.
    @discardableResult func observe() -> ServerLink? {
        let (isFirst, link) = state.withLock { state in
            defer { state.isObserving = true }
            return (!state.isObserving, state.link)
        }
        guard isFirst else { return link }
        let new = database.observe { [weak self] in self?.receive($0) }
        state.withLock { $0.link = new }
        return new
    }

    private func receive(_ notices: [ServerNotice]) {
        let (woken, replaced, looks) = state.withLock { state in
            var woken: Set<String> = []
            var replaced: [OpenStream] = []
            var looks = false
            for notice in notices {
                switch notice {
                case .rows(let scope): woken.formUnion(state.readers[scope] ?? [])
                case .access(let account):
                    let sessions = state.readers[SyncScope.account(account).description] ?? []
                    // The next look counts as new, even if it finds the state of the look before.
                    for session in sessions { state.entries[session]?.noteChange() }
                    state.pending.formUnion(sessions)
                    looks = looks || !sessions.isEmpty
                case .stream(let session, let id):
                    guard let stream = state.entries[session] else { continue }
                    if stream.isReplaced(byStream: id) { replaced.append(stream) }
                case .missed(let cause):
                    if let cause {
                        logger.warning("Notices about changes may have been lost.", metadata: ["cause": "\(cause)"])
                    }
                    state.isPoked = true
                    looks = true
                }
            }
            return (woken.compactMap { state.entries[$0] }, replaced, looks)
        }
        for stream in woken { stream.tell() }
        for stream in replaced { stream.end(.replaced) }
        if looks { wake.notify() }
    }

    // MARK: Looks

    /// Looks as long as any stream stays open: at the sessions that notices name, and at all of them at an interval.
    private func look() async {
        var lastLook = times.clock.stopwatch()
        var isDue = true
        while true {
            let (concerned, isAll, hearsAll) = state.withLock { state in
                let hearsAll = state.link != nil
                guard state.hasLive, !state.isStopped else {
                    state.isLooking = false
                    return ([OpenStream]?.none, false, hearsAll)
                }
                let isAll = isDue || state.isPoked || lastLook() >= (hearsAll ? times.repair : times.poll)
                let streams =
                    isAll ? Array(state.entries.values) : state.pending.compactMap { state.entries[$0] }
                state.pending = []
                state.isPoked = false
                return (streams.filter(\.isLive), isAll, hearsAll)
            }
            guard let concerned else { return }
            do {
                try await look(at: concerned)
                isDue = false
            } catch {
                logger.error("The changes for open streams could not be read.", metadata: ["error": "\(error)"])
                // The changes that notices have named are not known now.
                isDue = true
            }
            if isAll { lastLook = times.clock.stopwatch() }
            let interval = hearsAll && !isDue ? times.repair : times.poll
            await wake.wait(atMost: max(interval - lastLook(), .milliseconds(1)), clock: times.clock)
        }
    }

    /// Reads the sessions of streams, and wakes the streams whose session or access has changed.
    private func look(at streams: [OpenStream]) async throws {
        // Before the look, so that what a stream reads during it counts for the next one.
        for stream in streams { stream.forgetStateIfChanged() }
        let states = try await states(of: streams.map(\.session).sorted())
        state.withLock { state in
            for stream in streams { state.route(stream, scopes: states[stream.session]?.scopes ?? []) }
        }
        // After the routes are set, so that no commit is missed between the two. The first state of a session counts as
        // new, because much may have changed since its stream was planned.
        for stream in streams where stream.hasNewState(states[stream.session]?.value) { stream.tell() }
    }

    /// The state of a session that a stream depends on.
    private struct SessionState {
        var hasher = Hasher()
        var value = 0
        var scopes: Set<String> = []
    }

    /// Returns a number for each session that changes with its state, its readable scopes and their heads.
    private func states(of sessions: [String]) async throws -> [String: SessionState] {
        var states: [String: SessionState] = [:]
        let now = now()
        for start in stride(from: 0, to: sessions.count, by: Self.largest) {
            let part = Array(sessions[start..<min(start + Self.largest, sessions.count)])
            let found = try await database.read { try Self.states(of: part, at: now, $0) }
            states.merge(found) { _, new in new }
        }
        return states
    }

    private static let largest = 1_000

    private static func states(
        of sessions: [String], at now: Int64, _ db: any SQLConnection
    ) throws -> [String: SessionState] {
        // Only a few lengths are used, because the statement of each stays prepared.
        let width = sessions.count <= 16 ? 16 : sessions.count <= 128 ? 128 : largest
        let arguments = sessions + Array(repeating: sessions[sessions.count - 1], count: width - sessions.count)
        let marks = (1...width).map { "?\($0)" }.joined(separator: ", ")
        var states: [String: SessionState] = [:]
        let sql = """
            SELECT e.id, e.epoch, e.resetReason, g.scopeID, s.head, e.expiresAt FROM sync_session e
            LEFT JOIN sync_grant g ON g.accountID = e.accountID LEFT JOIN sync_scope s ON s.id = g.scopeID
            WHERE e.id IN (\(marks)) ORDER BY e.id, g.scopeID
            """
        try db.query(sql, arguments: arguments.map { .text($0) }) { row in
            guard let session = try row.text(0) else { return true }
            var state = states[session] ?? SessionState()
            state.hasher.combine(try row.integer(1))
            for column in 2...4 { state.hasher.combine(try row.text(column)) }
            state.hasher.combine(try row.integer(5).map { $0 <= now })
            if let scope = try row.text(3) { state.scopes.insert(scope) }
            states[session] = state
            return true
        }
        return states.mapValues { state in
            var state = state
            state.value = state.hasher.finalize()
            return state
        }
    }
}
