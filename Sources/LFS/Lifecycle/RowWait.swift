import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer

/// Waits until a question about the rows is answered with yes, as often as the hub rings, and now and then without it:
/// other processes change rows too.
struct RowWait: Sendable {
    let runner: BackgroundRunner
    let hub: EventHub
    let lifecycle: Lifecycle
    let pollInterval: Duration
    let clock: any Clock<Duration>

    /// - Parameter timeout: how long to wait at the most; nil waits as long as it takes.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager does not run, or stops meanwhile.
    func wait(_ timeout: Duration?, until isDone: @escaping @Sendable (Database) throws -> Bool) async throws {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let waiter = hub.addWaiter()
        defer { hub.removeWaiter(waiter.id) }
        while try await !runner.read(isDone) {
            if let deadline, deadline <= .now { return }
            guard lifecycle.isRunning, !lifecycle.isStopRequested else {
                throw LFSError(.notRunning, "Nothing runs: the LFSManager was stopped, or start() was not called yet.")
            }
            let left = deadline.map { max($0 - .now, .zero) } ?? pollInterval
            await waiter.signal.wait(atMost: min(left, pollInterval), clock: clock)
            try Task.checkCancellation()
        }
    }
}
