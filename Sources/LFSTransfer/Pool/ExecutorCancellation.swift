import LFSSystem
import Synchronization

/// Tells one executor that the job it works on was cancelled.
///
/// Both calls happen under the pool's mutex, so that a cancellation meets the job that it is meant for and no later
/// one.
final class ExecutorCancellation: Sendable {
    private let signal = Signal()
    private let isSet = Atomic(false)

    var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    func cancel() {
        isSet.store(true, ordering: .relaxed)
        signal.notify()
    }

    /// Returns after the cancellation, or when the task itself is cancelled.
    func wait() async { await signal.wait() }
}
