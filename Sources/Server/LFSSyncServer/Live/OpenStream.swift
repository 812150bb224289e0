import LFSSystem
import Synchronization

/// A stream while it is being sent.
///
/// The mutex owns the routes and the last state. ``OpenStreams`` changes them.
final class OpenStream: Sendable {
    /// A reason why a stream ends early.
    enum End: Sendable {
        /// A newer stream of the session has replaced it.
        case replaced
        /// The server stops.
        case stopped
        /// The client has closed the connection.
        case left
    }

    /// The registration of a stream for as long as it is sent.
    final class Ticket: Sendable {
        private let stream: OpenStream
        private let remove: @Sendable () -> Void

        init(_ stream: OpenStream, remove: @escaping @Sendable () -> Void) {
            self.stream = stream
            self.remove = remove
        }

        deinit { remove() }

        /// The reason for an early end, or nil while the stream continues.
        var end: End? { stream.state.withLock { $0.end } }

        /// Ends the stream early.
        func end(_ reason: End) { stream.end(reason) }

        /// Returns true if the account may have something new since the last call. True at the first call.
        func takeNews() -> Bool { stream.hasNews.exchange(false, ordering: .acquiringAndReleasing) }

        /// Lets the next look at the session count as new, after the stream has found something to send.
        ///
        /// The stream may have read a state between two looks that neither of them saw, such as access that was given
        /// and withdrawn.
        func noteChange() { stream.noteChange() }

        /// Waits until there may be something new, the stream ends, or the time is over.
        func wait(atMost time: Duration, clock: any Clock<Duration>) async {
            await stream.news.wait(atMost: time, clock: clock)
        }
    }

    private struct State {
        var end: End?
        /// The scopes whose changes wake the stream.
        var scopes: Set<String> = []
        /// A number for the state of the session at the last look, or nil if the next look counts as new.
        var lastState: Int?
        /// True once the notice about the opening of this stream has come back.
        var isAnnounced = false
    }

    let session: String
    let isLive: Bool
    /// An id that no other stream has, on any server.
    let id = String(UInt64.random(in: .min ... .max), radix: 36)
    private let news = Signal()
    private let hasNews = Atomic(true)
    /// True if the stream or its access may have changed since the last look.
    private let hasChanged = Atomic(false)
    private let state = Mutex(State())

    init(_ session: SyncSession, isLive: Bool) {
        self.session = session.id
        self.isLive = isLive
    }

    func noteChange() { hasChanged.store(true, ordering: .releasing) }

    func tell() {
        hasNews.store(true, ordering: .releasing)
        news.notify()
    }

    func end(_ reason: End) {
        state.withLock { $0.end = $0.end ?? reason }
        news.notify()
    }

    /// Replaces the scopes whose changes wake the stream.
    ///
    /// - Returns: the previous scopes.
    func replaceScopes(_ scopes: Set<String>) -> Set<String> {
        state.withLock { state in
            defer { state.scopes = scopes }
            return state.scopes
        }
    }

    /// Forgets the state of the last look if the stream or its access may have changed since.
    func forgetStateIfChanged() {
        guard hasChanged.exchange(false, ordering: .acquiringAndReleasing) else { return }
        state.withLock { $0.lastState = nil }
    }

    /// Records the state of the session at a look.
    ///
    /// - Returns: true if the state differs from that of the previous look, or if there is no previous state.
    func hasNewState(_ value: Int?) -> Bool {
        state.withLock { state in
            defer { state.lastState = value }
            return state.lastState == nil || state.lastState != value
        }
    }

    /// Records a notice about the opening of a stream of the same session.
    ///
    /// All servers receive these notices in one order. Another stream is newer if its notice follows that of this
    /// stream.
    ///
    /// - Returns: true if the stream is newer than this one.
    func isReplaced(byStream id: String) -> Bool {
        state.withLock { state in
            if id == self.id { state.isAnnounced = true }
            return id != self.id && state.isAnnounced
        }
    }
}
