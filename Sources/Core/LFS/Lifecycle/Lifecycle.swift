import LFSSystem
import Synchronization

/// The state of a manager: open, running or stopped, and whether it is suspended.
final class Lifecycle: Sendable {
    private enum Phase {
        case open, running, stopped
    }

    private struct State {
        var phase = Phase.open
        var isStopRequested = false
        /// True from the request of a suspension to its end.
        var isSuspended = false
        /// True if the suspension holds no lock any more.
        var isReleased = false
        /// The number of requests to suspend, and the number of those that a resumption has ended.
        var requestCount = 0
        var endedCount = 0
        /// True while the work of the period is running.
        var isWorking = false
        /// The current period, or the last one during a suspension.
        var period = WorkPeriod()
        /// Opens at the end of the suspension, or when a stop is requested.
        var resumption = Latch()
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
    var isSuspended: Bool { state.withLock { $0.isSuspended && !$0.isStopRequested } }
    /// True if a suspension holds no lock any more.
    var isReleased: Bool { state.withLock { $0.isReleased } }
    /// True if the work of the current period has to end, because of a suspension or a stop.
    var isEnding: Bool { ending.isOpen }
    /// Opens when the work of the current period has to end.
    var ending: Latch { period.ending }
    var period: WorkPeriod { state.withLock { $0.period } }

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

    // MARK: Working

    /// Waits for the end of a suspension and begins the work. Returns false after a stop.
    func beginPeriod() async -> Bool {
        while true {
            let (isStopped, resumption) = state.withLock { state -> (Bool, Latch?) in
                if state.isStopRequested { return (true, nil) }
                if state.isSuspended { return (false, state.resumption) }
                state.isWorking = true
                return (false, nil)
            }
            if isStopped { return false }
            guard let resumption else { return true }
            await resumption.waitThroughCancellation()
        }
    }

    func endPeriod() {
        let period = state.withLock { state in
            state.isWorking = false
            return state.period
        }
        period.ended.open()
    }

    /// Returns when no background work is running, also in a cancelled task.
    func waitForIdle() async {
        if state.withLock({ $0.isWorking }) { await period.ended.waitThroughCancellation() }
    }

    /// Does the same as ``waitForIdle()``, or returns when the task is cancelled.
    func waitForEndOfWork() async {
        if state.withLock({ $0.isWorking }) { await period.ended.wait() }
    }

    /// - Throws: ``LFSError/Code/notRunning`` after a stop.
    func requireNoStop() throws(LFSError) {
        if isStopRequested { throw LFSError.stopped("resume it") }
    }

    // MARK: Suspending

    /// The number of requests to suspend so far.
    var suspensionRequestCount: Int { state.withLock { $0.requestCount } }

    /// Counts a request to suspend.
    func countSuspensionRequest() -> Int {
        state.withLock { state in
            state.requestCount += 1
            return state.requestCount
        }
    }

    /// Returns whether a later resumption has ended a request.
    func hasEnded(request: Int) -> Bool { state.withLock { request <= $0.endedCount } }

    /// Begins a suspension, unless one is active.
    ///
    /// - Throws: ``LFSError/Code/notRunning`` after a stop.
    func beginSuspension() throws(LFSError) {
        let period = state.withLock { state -> WorkPeriod? in
            guard !state.isStopRequested else { return nil }
            if !state.isSuspended { state.resumption = Latch() }
            state.isSuspended = true
            return state.period
        }
        guard let period else { throw LFSError.stopped("suspend it") }
        period.ending.open()
    }

    /// Ends the work of a suspension that has not ended yet at once.
    func hurrySuspension() {
        let period = state.withLock { $0.isSuspended ? $0.period : nil }
        period?.overdue.open()
    }

    /// Records that the suspension holds no lock any more.
    func endReleasing() { state.withLock { $0.isReleased = true } }

    /// Ends the suspension, and lets the next period begin.
    ///
    /// - Parameter count: the number of requests that came before the resumption.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop.
    func endSuspension(ofRequests count: Int) throws(LFSError) {
        let resumption = state.withLock { state -> Latch? in
            guard !state.isStopRequested else { return nil }
            state.isSuspended = false
            state.isReleased = false
            state.endedCount = max(state.endedCount, count)
            state.period = WorkPeriod()
            return state.resumption
        }
        guard let resumption else { throw LFSError.stopped("resume it") }
        resumption.open()
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
        let (isRunning, period, resumption) = state.withLock { state in
            state.isStopRequested = true
            return (state.phase == .running, state.period, state.resumption)
        }
        stop.open()
        period.ending.open()
        resumption.open()
        calls.close(for: .stop)
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
