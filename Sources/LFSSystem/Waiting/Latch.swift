/// Opens once and stays open; any number of tasks can wait for it.
package final class Latch: Sendable {
    /// Whether it is open, and who waits for that.
    private let queue = WaitQueue<Bool, Void>(false)

    package init() {}

    /// How many tasks wait for it.
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

    /// As ``wait()``, but a cancelled task waits too. For one that must not go on before.
    package func waitThroughCancellation() async { await queue.wait(ifCancelled: nil) { $0 ? () : nil } }

    /// Returns when the latch is open, the signal rings or the time is over. Without either of these two it waits for
    /// the latch.
    package func wait(orFor signal: Signal? = nil, atMost time: Duration?, clock: any Clock<Duration>) async {
        var waits: [@Sendable () async -> Void] = [{ await self.wait() }]
        if let signal { waits.append { await signal.wait() } }
        if let time { waits.append { await clock.wait(for: time) } }
        await race(waits)
    }
}
