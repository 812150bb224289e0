import LFSSystem
import Logging
import Synchronization

/// The streams that are being sent. Each session has one: a newer stream ends the older one. Streams that stay open are
/// woken when their account has something new. One statement per second serves all of them. A push through this process
/// is followed by a statement for the sessions that may see its rows.
///
/// Owner of the streams and of the polling task: the mutex. The task ends with the last of the streams.
final class OpenStreams: Sendable {
    /// A reason why a stream ends early.
    enum End: Sendable { case replaced, stopped }

    /// The registration of a stream for as long as it is sent.
    final class Ticket: Sendable {
        fileprivate let entry: Entry
        private let streams: OpenStreams

        fileprivate init(_ entry: Entry, streams: OpenStreams) { (self.entry, self.streams) = (entry, streams) }

        deinit { streams.remove(entry) }

        /// The reason for an early end, or nil while the stream continues.
        var end: End? { entry.end.withLock { $0 } }

        /// Returns true if the account may have something new since the last call. True at the first call.
        func takeNews() -> Bool {
            entry.hasNews.withLock { hasNews in
                defer { hasNews = false }
                return hasNews
            }
        }

        /// Has the next look at the session count as new, after the stream has found something to send.
        ///
        /// The stream may have read a state between two looks that neither of them saw, such as access that was given
        /// and withdrawn.
        func noteChange() { entry.hasChanged.withLock { $0 = true } }

        /// Waits until there may be something new, the stream ends, or the time is over.
        func wait(atMost time: Duration, clock: any Clock<Duration>) async {
            await entry.news.wait(atMost: time, clock: clock)
        }
    }

    fileprivate final class Entry: Sendable {
        let session: String
        let isLive: Bool
        let account: String
        let news = Signal()
        let hasNews = Mutex(true)
        /// True if the stream has found something to send since the last look.
        let hasChanged = Mutex(false)
        let end = Mutex<End?>(nil)

        init(_ session: SyncSession, isLive: Bool) {
            self.session = session.id
            self.isLive = isLive
            account = session.account
        }

        func takeChange() -> Bool {
            hasChanged.withLock { hasChanged in
                defer { hasChanged = false }
                return hasChanged
            }
        }

        func tell() {
            hasNews.withLock { $0 = true }
            news.notify()
        }

        func end(_ reason: End) {
            end.withLock { $0 = $0 ?? reason }
            news.notify()
        }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var isStopped = false
        var isLooking = false
        /// The accounts that have pushed since the last look.
        var pushed: Set<String> = []
        /// True if all sessions have to be looked at.
        var isPoked = false
    }

    /// The state of a session that a stream depends on.
    private struct SessionState {
        var hasher = Hasher()
        var value = 0
        var scopes: Set<String> = []
    }

    private let state = Mutex(State())
    private let wake = Signal()
    private let database: any SQLDatabase
    private let times: LiveTimes
    private let logger: Logger

    init(_ database: any SQLDatabase, times: LiveTimes, logger: Logger) {
        self.database = database
        self.times = times
        self.logger = logger
    }

    /// The number of open streams.
    var count: Int { state.withLock { $0.entries.count } }

    func open(_ session: SyncSession, isLive: Bool) -> Ticket {
        let entry = Entry(session, isLive: isLive)
        let (older, begins) = state.withLock { state in
            if state.isStopped { entry.end(.stopped) }
            let older = state.entries.updateValue(entry, forKey: session.id)
            let begins = isLive && !state.isLooking && !state.isStopped
            if begins { state.isLooking = true }
            return (older, begins)
        }
        older?.end(.replaced)
        if begins { Task { await look() } }
        return Ticket(entry, streams: self)
    }

    /// Makes all waiting streams check for changes at once.
    func poke() {
        state.withLock { $0.isPoked = true }
        wake.notify()
    }

    /// Makes the streams that share a scope with an account check for changes at once, after its push.
    func pushed(by account: String) {
        let isLooking = state.withLock { state in
            if state.isLooking { state.pushed.insert(account) }
            return state.isLooking
        }
        if isLooking { wake.notify() }
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

    private func remove(_ entry: Entry) {
        state.withLock { state in
            if state.entries[entry.session] === entry { state.entries[entry.session] = nil }
        }
    }

    // MARK: Polling

    /// Polls as long as any stream waits. Between two polls, it reads the sessions that a push concerns.
    private func look() async {
        var seen: [String: SessionState] = [:]
        var nextPoll = times.clock.stopwatch()
        var isDue = true
        while true {
            let (waiting, pushed, isPoked) = state.withLock { state in
                let waiting = state.entries.values.filter(\.isLive)
                if waiting.isEmpty || state.isStopped { state.isLooking = false }
                defer { (state.pushed, state.isPoked) = ([], false) }
                return (state.isLooking ? waiting : [], state.pushed, state.isPoked)
            }
            if waiting.isEmpty { return }
            let isAll = isDue || isPoked || nextPoll() >= times.poll
            do {
                let concerned = isAll ? waiting : try await concerned(by: pushed, among: waiting, seen: seen)
                // Before the look, so that what a stream reads during it counts for the next one.
                for entry in concerned where entry.takeChange() { seen[entry.session] = nil }
                let states = try await states(of: concerned.map(\.session).sorted())
                // The first state of a session counts as new, because much may have changed since its stream was
                // planned.
                for entry in concerned
                where seen[entry.session] == nil || seen[entry.session]?.value != states[entry.session]?.value {
                    entry.tell()
                }
                if isAll { seen = states }
                for entry in concerned { seen[entry.session] = states[entry.session] }
                isDue = false
            } catch {
                logger.error("The changes for open streams could not be read.", metadata: ["error": "\(error)"])
                // What the pushes have changed is not known now.
                isDue = true
            }
            if isAll { nextPoll = times.clock.stopwatch() }
            await wake.wait(atMost: max(times.poll - nextPoll(), .milliseconds(1)), clock: times.clock)
        }
    }

    /// Returns the streams that share a scope with accounts that have pushed, and the new ones. A row that an account
    /// has no longer access to may be in other scopes too. Their streams see it at the next poll.
    private func concerned(
        by accounts: Set<String>, among waiting: [Entry], seen: [String: SessionState]
    ) async throws -> [Entry] {
        var scopes: Set<String> = []
        var unknown = accounts
        for entry in waiting where accounts.contains(entry.account) {
            guard let state = seen[entry.session] else { continue }
            scopes.formUnion(state.scopes)
            unknown.remove(entry.account)
        }
        if !unknown.isEmpty {
            scopes.formUnion(try await database.read { [unknown] in try Self.scopes(of: unknown.sorted(), $0) })
        }
        return waiting.filter { entry in
            guard let state = seen[entry.session] else { return true }
            return !state.scopes.isDisjoint(with: scopes)
        }
    }

    private static func scopes(of accounts: [String], _ db: any SQLConnection) throws -> Set<String> {
        var scopes: Set<String> = []
        for account in accounts {
            try db.query("SELECT scopeID FROM sync_grant WHERE accountID = ?1", arguments: [.text(account)]) { row in
                if let scope = try row.text(0) { scopes.insert(scope) }
                return true
            }
        }
        return scopes
    }

    /// Returns a number for each session that changes with its state, its readable scopes and their heads.
    private func states(of sessions: [String]) async throws -> [String: SessionState] {
        var states: [String: SessionState] = [:]
        for start in stride(from: 0, to: sessions.count, by: Self.largest) {
            let part = Array(sessions[start..<min(start + Self.largest, sessions.count)])
            let found = try await database.read { try Self.states(of: part, $0) }
            states.merge(found) { _, new in new }
        }
        return states
    }

    private static let largest = 1_000

    private static func states(of sessions: [String], _ db: any SQLConnection) throws -> [String: SessionState] {
        // Only a few lengths are used, because the statement of each stays prepared.
        let width = sessions.count <= 16 ? 16 : sessions.count <= 128 ? 128 : largest
        let arguments = sessions + Array(repeating: sessions[sessions.count - 1], count: width - sessions.count)
        let marks = (1...width).map { "?\($0)" }.joined(separator: ", ")
        var states: [String: SessionState] = [:]
        let sql = """
            SELECT e.id, e.epoch, e.resetReason, g.scopeID, s.head FROM sync_session e
            LEFT JOIN sync_grant g ON g.accountID = e.accountID LEFT JOIN sync_scope s ON s.id = g.scopeID
            WHERE e.id IN (\(marks)) ORDER BY e.id, g.scopeID
            """
        try db.query(sql, arguments: arguments.map { .text($0) }) { row in
            guard let session = try row.text(0) else { return true }
            var state = states[session] ?? SessionState()
            state.hasher.combine(try row.integer(1))
            for column in 2...4 { state.hasher.combine(try row.text(column)) }
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
