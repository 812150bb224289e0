import LFSTransfer
import Synchronization

/// Where a manager is in its life: open, running, stopped. Owner of the state: the mutex.
final class Lifecycle: Sendable {
    private enum Phase {
        case open, running, stopped
    }

    private struct State {
        var phase = Phase.open
        var isStopRequested = false
        var isDetached = false
        var task: Task<Void, any Error>?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// Opens when a stop is asked for.
    let stop = Latch()

    var isRunning: Bool { state.withLock { $0.phase == .running } }
    var isStopped: Bool { state.withLock { $0.phase == .stopped || $0.isStopRequested } }
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
        let waiters = state.withLock { state in
            state.phase = .stopped
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// True for the first caller only.
    func beginDetaching() -> Bool {
        state.withLock { state in
            defer { state.isDetached = true }
            return !state.isDetached
        }
    }

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
        return isRunning
    }

    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.phase != .running { return true }
                state.waiters.append(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
        }
    }
}
