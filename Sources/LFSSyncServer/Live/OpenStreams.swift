import LFSSystem
import Logging
import Synchronization

/// The streams that are being sent. Each session has one: a newer one ends the older. Those that stay open are woken
/// when their account has something new, for which one statement a second serves them all; what comes through this
/// process wakes them at once.
///
/// Owner of the streams and of the task that looks: the mutex. The task ends with the last of them.
final class OpenStreams: Sendable {
    /// Why a stream ends before its time.
    enum End: Sendable { case replaced, stopped }

    /// One stream, as long as it is sent.
    final class Ticket: Sendable {
        fileprivate let entry: Entry
        private let streams: OpenStreams

        fileprivate init(_ entry: Entry, _ streams: OpenStreams) { (self.entry, self.streams) = (entry, streams) }

        deinit { streams.remove(entry) }

        /// nil while it goes on.
        var end: End? { entry.end.withLock { $0 } }

        /// Returns when there may be something new, at an end, or after the time.
        func wait(atMost time: Duration, clock: any Clock<Duration>) async {
            await entry.news.wait(atMost: time, clock: clock)
        }
    }

    fileprivate final class Entry: Sendable {
        let session: String
        let isLive: Bool
        let news = Signal()
        let end = Mutex<End?>(nil)

        init(_ session: SyncSession, isLive: Bool) {
            (self.session, self.isLive) = (session.id, isLive)
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
    }

    private let state = Mutex(State())
    private let wake = Signal()
    private let database: any SQLDatabase
    private let times: LiveTimes
    private let logger: Logger

    init(_ database: any SQLDatabase, _ times: LiveTimes, _ logger: Logger) {
        (self.database, self.times, self.logger) = (database, times, logger)
    }

    /// How many streams are open.
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
        return Ticket(entry, self)
    }

    /// Something was written: whoever waits looks at once.
    func poke() { wake.notify() }

    /// Ends all streams, and those that come yet.
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

    // MARK: Looking

    /// Looks as long as somebody waits.
    private func look() async {
        var seen: [String: Int] = [:]
        while true {
            let waiting = state.withLock { state in
                let waiting = state.entries.values.filter(\.isLive)
                if waiting.isEmpty || state.isStopped { state.isLooking = false }
                return state.isLooking ? waiting : []
            }
            if waiting.isEmpty { return }
            do {
                let states = try await states(of: waiting.map(\.session).sorted())
                // The first look at a session is news: much may have happened since its stream was planned.
                for entry in waiting where seen[entry.session] == nil || seen[entry.session] != states[entry.session] {
                    entry.news.notify()
                }
                seen = states
            } catch {
                logger.error("Open streams could not be looked after.", metadata: ["error": "\(error)"])
            }
            await wake.wait(atMost: times.poll, clock: times.clock)
        }
    }

    /// How each session stands, what it may read and how far that is, as a number that changes with it.
    private func states(of sessions: [String]) async throws -> [String: Int] {
        var states: [String: Int] = [:]
        for start in stride(from: 0, to: sessions.count, by: Self.largest) {
            let part = Array(sessions[start..<min(start + Self.largest, sessions.count)])
            let found = try await database.read { try Self.states(of: part, $0) }
            states.merge(found) { _, new in new }
        }
        return states
    }

    private static let largest = 1_000

    private static func states(of sessions: [String], _ db: any SQLConnection) throws -> [String: Int] {
        // A few lengths only, for each is a statement that is kept.
        let width = sessions.count <= 16 ? 16 : sessions.count <= 128 ? 128 : largest
        let arguments = sessions + Array(repeating: sessions[sessions.count - 1], count: width - sessions.count)
        let marks = (1...width).map { "?\($0)" }.joined(separator: ", ")
        var states: [String: Hasher] = [:]
        let sql = """
            SELECT e.id, e.epoch, e.resetReason, g.scopeID, s.head FROM sync_session e
            LEFT JOIN sync_grant g ON g.accountID = e.accountID LEFT JOIN sync_scope s ON s.id = g.scopeID
            WHERE e.id IN (\(marks)) ORDER BY e.id, g.scopeID
            """
        try db.query(sql, arguments.map { .text($0) }) { row in
            guard let session = try row.text(0) else { return true }
            var state = states[session] ?? Hasher()
            state.combine(try row.integer(1))
            for column in 2...4 { state.combine(try row.text(column)) }
            states[session] = state
            return true
        }
        return states.mapValues { $0.finalize() }
    }
}
