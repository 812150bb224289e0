import Synchronization

/// The back pressure of a slow reader on a connection.
///
/// Pauses of a URLSession task may nest. So pauses and resumptions alternate strictly, and the last one fits the
/// reader's state. One thread at a time calls the closures, never with the mutex locked.
final class BackPressure: Sendable {
    private struct State {
        var isPaused = false
        /// True if a thread is applying the reader's state to the connection.
        var isUpdating = false
        /// True if the reader's state may have changed since that thread has read it.
        var isDue = false

        /// Requests an update. Returns true if the caller has to run it, because no other thread does.
        mutating func request() -> Bool {
            isDue = true
            defer { isUpdating = true }
            return !isUpdating
        }

        /// Returns whether the connection is paused, or nil at the end of the update.
        mutating func next() -> Bool? {
            isUpdating = isDue
            isDue = false
            return isUpdating ? isPaused : nil
        }
    }

    private let isFull: @Sendable () -> Bool
    private let suspend: @Sendable () -> Void
    private let resume: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - isFull: returns true while the reader has no room.
    ///   - suspend: pauses the connection.
    ///   - resume: ends the pause.
    init(
        isFull: @escaping @Sendable () -> Bool, suspend: @escaping @Sendable () -> Void,
        resume: @escaping @Sendable () -> Void
    ) {
        self.isFull = isFull
        self.suspend = suspend
        self.resume = resume
    }

    /// Pauses or resumes the connection if the reader's state requires it. Call it after each change of that state.
    func update() {
        // A running update reads the state once more.
        guard state.withLock({ $0.request() }) else { return }
        while let isPaused = state.withLock({ $0.next() }) {
            let isWanted = isFull()
            if isWanted == isPaused { continue }
            if isWanted { suspend() } else { resume() }
            state.withLock { $0.isPaused = isWanted }
        }
    }
}
