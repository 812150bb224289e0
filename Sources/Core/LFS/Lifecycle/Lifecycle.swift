import LFSSystem
import Synchronization

/// The state of a manager: open, running or stopped.
final class Lifecycle: Sendable {
    private enum Phase {
        case open, running, stopped
    }

    private struct State {
        var phase = Phase.open
        var isStopRequested = false
        var isDetaching = false
        var task: Task<Void, any Error>?
        /// The running reset.
        var reset: Latch?
    }

    private let state = Mutex(State())
    /// Opens when a stop is requested.
    let stop = Latch()
    /// The calls of the app that a stop cancels.
    let calls = ActiveCalls()
    /// Opens when the background work has ended.
    private let work = Latch()
    private let detaching = Latch()

    /// The number of tasks that wait for the end of the manager or of a reset.
    var waiterCount: Int {
        let latches = [work, detaching, state.withLock { $0.reset }]
        return latches.reduce(calls.waiterCount) { $0 + ($1?.waiterCount ?? 0) }
    }

    var isRunning: Bool { state.withLock { $0.phase == .running } }
    var isStopRequested: Bool { state.withLock { $0.isStopRequested } }

    /// - Throws: ``LFSError/Code/notRunning`` when it was started before.
    func begin() throws(LFSError) {
        let mayRun = state.withLock { state in
            guard state.phase == .open, !state.isStopRequested else { return false }
            state.phase = .running
            return true
        }
        guard mayRun else {
            throw LFSError(.notRunning, message: "An LFSManager runs only once. Open another one after a stop.")
        }
    }

    func end() {
        state.withLock { $0.phase = .stopped }
        work.open()
    }

    // MARK: Stopping

    /// Keeps the task of ``LFSManager/start()``, so that a stop can wait for it.
    func own(_ task: Task<Void, any Error>) { state.withLock { $0.task = task } }

    /// Returns the task of a start, once.
    func takeTask() -> Task<Void, any Error>? {
        state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
    }

    /// Requests a stop. Returns whether work is running that has to end.
    func requestStop() -> Bool {
        let isRunning = state.withLock { state in
            state.isStopRequested = true
            return state.phase == .running
        }
        stop.open()
        calls.close()
        return isRunning
    }

    /// Returns when the background work has ended. Call it only when the work is running.
    func waitForEnd() async { await work.waitThroughCancellation() }

    /// Returns true for the first caller, which must call ``endDetaching()``. All others call ``waitForDetaching()``.
    func beginDetaching() -> Bool {
        state.withLock { state in
            defer { state.isDetaching = true }
            return !state.isDetaching
        }
    }

    func endDetaching() { detaching.open() }

    func waitForDetaching() async { await detaching.waitThroughCancellation() }

    // MARK: Resetting

    /// - Throws: ``LFSError/Code/notRunning`` while another reset is running. Two resets would share the open lock of
    ///   the manager.
    func beginReset() throws(LFSError) {
        let isFirst = state.withLock { state in
            guard state.reset == nil else { return false }
            state.reset = Latch()
            return true
        }
        guard isFirst else { throw LFSError(.notRunning, message: "A reset of this LFSManager is under way.") }
    }

    func endReset() {
        let reset = state.withLock { state in
            defer { state.reset = nil }
            return state.reset
        }
        reset?.open()
    }

    /// Returns when no reset is running.
    func waitForReset() async { await state.withLock { $0.reset }?.waitThroughCancellation() }
}
