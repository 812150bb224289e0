import Synchronization

/// The time of one executor, which whoever cancels its job ends.
///
/// Both calls happen under the pool's mutex, so that an end meets the job that it is meant for and no later one.
final class Shift: Sendable {
    private let ending = Signal()
    private let over = Atomic(false)

    var isOver: Bool { over.load(ordering: .relaxed) }

    func end() {
        over.store(true, ordering: .relaxed)
        ending.notify()
    }

    /// Returns at the end, or when the task is cancelled.
    func waitForEnd() async { await ending.wait() }
}
