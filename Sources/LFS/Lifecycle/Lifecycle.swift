import LFSSystem
import Synchronization

/// Where a manager is in its life: open, running, stopped.
final class Lifecycle: Sendable {
    private enum Phase {
        case open, running, stopped
    }

    private struct State {
        var phase = Phase.open
        var isStopRequested = false
        var isDetaching = false
        var task: Task<Void, any Error>?
        /// The reset that is under way.
        var reset: Latch?
    }

    private let state = Mutex(State())
    /// Opens when a stop is asked for.
    let stop = Latch()
    /// What the host has asked for and a stop ends.
    let calls = Calls()
    /// The background work.
    private let work = Latch()
    private let detaching = Latch()

    /// How many tasks wait until the manager has come to its end, or to that of a reset.
    var waiterCount: Int {
        let latches = [work, detaching, state.withLock { $0.reset }]
        return latches.reduce(calls.waiterCount) { $0 + ($1?.waiterCount ?? 0) }
    }

    var isRunning: Bool { state.withLock { $0.phase == .running } }
    var isStopRequested: Bool { state.withLock { $0.isStopRequested } }

    /// - Throws: ``LFSError/Code/notRunning`` when it ran before.
    func begin() throws(LFSError) {
        let mayRun = state.withLock { state in
            guard state.phase == .open, !state.isStopRequested else { return false }
            state.phase = .running
            return true
        }
        guard mayRun else {
            throw LFSError(.notRunning, "An LFSManager runs once. Open another one to go on after a stop.")
        }
    }

    func end() {
        state.withLock { $0.phase = .stopped }
        work.open()
    }

    // MARK: Stopping

    /// Keeps the task that ``LFSManager/start()`` made, so that a stop can wait for it.
    func own(_ task: Task<Void, any Error>) { state.withLock { $0.task = task } }

    /// The task that a start made, once.
    func takeTask() -> Task<Void, any Error>? {
        state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
    }

    /// Asks for the end. Returns whether something runs that has to end.
    func requestStop() -> Bool {
        let isRunning = state.withLock { state in
            state.isStopRequested = true
            return state.phase == .running
        }
        stop.open()
        calls.close()
        return isRunning
    }

    /// Returns when the background work has ended. Only for who knows that it runs.
    func waitForEnd() async { await work.waitThroughCancellation() }

    /// True for the first caller only, who calls ``endDetaching()``; the others call ``waitForDetaching()``.
    func beginDetaching() -> Bool {
        state.withLock { state in
            defer { state.isDetaching = true }
            return !state.isDetaching
        }
    }

    func endDetaching() { detaching.open() }

    func waitForDetaching() async { await detaching.waitThroughCancellation() }

    // MARK: Resetting

    /// - Throws: ``LFSError/Code/notRunning`` while another reset is under way. Two of them would share the open lock,
    ///   which is the manager's.
    func beginReset() throws(LFSError) {
        let isFirst = state.withLock { state in
            guard state.reset == nil else { return false }
            state.reset = Latch()
            return true
        }
        guard isFirst else { throw LFSError(.notRunning, "A reset of this LFSManager is under way.") }
    }

    func endReset() {
        let reset = state.withLock { state in
            defer { state.reset = nil }
            return state.reset
        }
        reset?.open()
    }

    /// Returns when no reset is under way.
    func waitForReset() async { await state.withLock { $0.reset }?.waitThroughCancellation() }
}
