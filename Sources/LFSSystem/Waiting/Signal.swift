/// Wakes one waiting task, the one that has waited longest. A signal that comes while nobody waits is kept, and several
/// of them count as one.
package final class Signal: Sendable {
    /// Whether a signal is kept, and who waits for one.
    private let queue = WaitQueue<Bool, Void>(false)

    package init() {}

    /// Whether a task waits for it. While one does, no signal is kept.
    package var isAwaited: Bool { waiterCount > 0 }
    /// How many tasks wait for it.
    var waiterCount: Int { queue.waiterCount }

    package func notify() {
        queue.change { isSet, line in
            if !line.answerFirst(()) { isSet = true }
        }
    }

    /// Returns after the next signal, or at once when one is kept, or when the task is cancelled. A cancelled task
    /// leaves the signal to the next one that waits.
    package func wait() async { await queue.wait(ifCancelled: (), Self.take) }

    /// As ``wait()``, but a cancelled task waits too. For one that has to outlive those it serves.
    package func waitThroughCancellation() async { await queue.wait(ifCancelled: nil, Self.take) }

    /// As ``wait()``, but returns after the time as well. Nil waits for a signal only.
    package func wait(atMost time: Duration?, clock: any Clock<Duration>) async {
        guard let time else { return await wait() }
        await race({ await self.wait() }, { await clock.wait(for: time) })
    }

    private static func take(_ isSet: inout Bool) -> Void? {
        defer { isSet = false }
        return isSet ? () : nil
    }
}
