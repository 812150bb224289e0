/// A gate that opens once and stays open. Any number of tasks can wait for it.
package final class Latch: Sendable {
    /// The state, true if open, and the tasks that wait.
    private let queue = WaitQueue<Bool, Void>(false)

    package init() {}

    /// The number of waiting tasks.
    package var waiterCount: Int { queue.waiterCount }

    package var isOpen: Bool { queue.change { isOpen, _ in isOpen } }

    package func open() {
        queue.change { isOpen, line in
            isOpen = true
            line.answerAll(())
        }
    }

    /// Returns when the latch is open or the task is cancelled.
    package func wait() async { await queue.wait(ifCancelled: ()) { $0 ? () : nil } }

    /// Waits like ``wait()``, but also in a cancelled task. For code that must not continue before the latch is open.
    package func waitThroughCancellation() async { await queue.wait(ifCancelled: nil) { $0 ? () : nil } }

    /// Returns when the latch opens, the signal arrives or the time is over. The signal and the time are optional.
    package func wait(orFor signal: Signal? = nil, atMost time: Duration?, clock: any Clock<Duration>) async {
        var waits: [@Sendable () async -> Void] = [{ await self.wait() }]
        if let signal { waits.append { await signal.wait() } }
        if let time { waits.append { await clock.wait(for: time) } }
        await race(waits)
    }
}
