import TestSupport
import Testing

@testable import LFSSystem

@Suite("Signals and latches", .timeLimit(.minutes(10)))
struct SignalTests {
    @Test("A signal that comes before the wait is kept once")
    func keptSignal() async throws {
        let signal = Signal()
        signal.notify()
        signal.notify()
        await signal.wait()
        let clock = ManualClock()
        async let second: Void = signal.wait(atMost: .seconds(5), clock: clock)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(5))
        await second
    }

    @Test("No signal is lost between two tasks")
    func pingPong() async throws {
        let (ping, pong) = (Signal(), Signal())
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for _ in 1...5_000 { await ping.wait(); pong.notify() } }
            group.addTask { for _ in 1...5_000 { ping.notify(); await pong.wait() } }
        }
    }

    @Test("A wait ends with its task, and a later signal wakes the next one")
    func cancelledWait() async throws {
        let signal = Signal()
        let waiting = Task { await signal.wait() }
        waiting.cancel()
        await waiting.value
        signal.notify()
        await signal.wait()
    }

    @Test("An open latch lets all present and later waiters pass")
    func latch() async throws {
        let latch = Latch()
        let clock = ManualClock()
        let waiting = (1...20).map { _ in Task { await latch.wait() } }
        async let timed: Void = latch.wait(atMost: .seconds(3), clock: clock)
        await clock.waitForSleepers()
        clock.advance(by: .seconds(3))
        await timed
        latch.open()
        for task in waiting { await task.value }
        await latch.wait()
    }

    @Test("A wait of a cancelled task leaves an earlier signal to the next one")
    func keptThroughCancellation() async throws {
        let signal = Signal()
        signal.notify()
        let isCancelled = Latch()
        let task = Task {
            await isCancelled.waitThroughCancellation()
            await signal.wait()
        }
        task.cancel()
        isCancelled.open()
        await task.value
        await signal.wait()
    }
}
