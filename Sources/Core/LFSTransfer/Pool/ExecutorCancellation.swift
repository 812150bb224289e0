import LFSSystem
import Synchronization

/// A flag that informs one executor that its job was cancelled.
///
/// The pool takes jobs and cancels them under its mutex. So a cancellation reaches the intended job and not a later
/// one.
final class ExecutorCancellation: Sendable {
    private let signal = Signal()
    private let isSet = Atomic(false)

    var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    func cancel() {
        isSet.store(true, ordering: .relaxed)
        signal.notify()
    }

    /// Returns after the cancellation of the job or of the task itself.
    func wait() async { await signal.wait() }
}
