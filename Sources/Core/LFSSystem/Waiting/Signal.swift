/// An event that wakes the task which has waited longest. If no task waits, one event is kept, and further ones have no
/// effect.
package final class Signal: Sendable {
    /// The waiting tasks. The state is true while an event is kept.
    private let queue = WaitQueue<Bool, Void>(false)

    package init() {}

    /// True if a task waits. Then no event is kept.
    package var isAwaited: Bool { waiterCount > 0 }
    /// The number of waiting tasks.
    var waiterCount: Int { queue.waiterCount }

    package func notify() {
        queue.change { isSet, line in
            if !line.answerFirst(()) { isSet = true }
        }
    }

    /// Returns after the next event, at once if one is kept, or when the task is cancelled. A cancelled task leaves the
    /// event to the next one that waits.
    package func wait() async { await queue.wait(ifCancelled: (), Self.take) }

    /// Waits like ``wait()``, but also in a cancelled task. For a task that must outlive those it serves.
    package func waitThroughCancellation() async { await queue.wait(ifCancelled: nil, Self.take) }

    /// Waits like ``wait()``, but at most for the given time. Nil means no limit.
    package func wait(atMost time: Duration?, clock: any Clock<Duration>) async {
        guard let time else { return await wait() }
        await race({ await self.wait() }, { await clock.wait(for: time) })
    }

    private static func take(_ isSet: inout Bool) -> Void? {
        defer { isSet = false }
        return isSet ? () : nil
    }
}
