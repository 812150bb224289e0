import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer

/// A wait for a condition on the rows. It checks the condition whenever the hub notifies it, and periodically, because
/// other processes change rows too.
struct RowWait: Sendable {
    let runner: BackgroundRunner
    let hub: EventHub
    let lifecycle: Lifecycle
    let retryInterval: Duration
    let clock: any Clock<Duration>

    /// - Parameter timeout: the maximum time to wait. Nil waits without a limit.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager is not running, or stops during the call, and
    ///   ``LFSError/Code/suspended``.
    func wait(_ timeout: Duration?, until isDone: @escaping @Sendable (Database) throws -> Bool) async throws {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let waiter = hub.addWaiter()
        defer { hub.removeWaiter(waiter.id) }
        while try await !runner.read(isDone) {
            if let deadline, deadline <= .now { return }
            if lifecycle.isSuspended { throw LFSError.suspended("wait for uploads and deletions") }
            guard lifecycle.isRunning, !lifecycle.isStopRequested else {
                throw LFSError(
                    .notRunning, message: "The LFSManager is not running: it was stopped, or start() was not called.")
            }
            let left = deadline.map { max($0 - .now, .zero) } ?? retryInterval
            await waiter.signal.wait(atMost: min(left, retryInterval), clock: clock)
            try Task.checkCancellation()
        }
    }
}
