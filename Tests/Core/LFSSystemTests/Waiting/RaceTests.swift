import TestSupport
import Testing

@testable import LFSSystem

@Suite("Races", .timeLimit(.minutes(10)))
struct RaceTests {
    @Test("A race returns when the first task and the cancelled others have ended")
    func cancelsTheOthers() async throws {
        let (begun, held, ended) = (Latch(), Latch(), EventLog<String>())
        let running = Task {
            let results = await race(
                {
                    await begun.waitThroughCancellation(); return "first"
                },
                {
                    let never = Latch()
                    begun.open()
                    await never.wait()
                    ended.add("was cancelled")
                    await held.waitThroughCancellation()
                    return "second"
                })
            ended.add("race")
            return results
        }
        await ended.wait { $0.count == 1 }
        try await yield(while: held.waiterCount == 0)
        #expect(ended.events == ["was cancelled"], "the race waits for the cancelled task")
        held.open()
        #expect(await running.value == ["first", "second"])
    }

    @Test("Cancelling the task of a race cancels all its operations")
    func cancelled() async {
        let (one, other) = (Latch(), Signal())
        let task = Task { await race({ await one.wait() }, { await other.wait() }) }
        task.cancel()
        #expect(await task.value.count == 2)
    }

    @Test("A wait ends when its time is over", arguments: [true, false])
    func time(_ isLatch: Bool) async {
        let (clock, latch, signal) = (ManualClock(), Latch(), Signal())
        async let wait: Void =
            isLatch
            ? latch.wait(orFor: signal, atMost: .seconds(3), clock: clock)
            : signal.wait(atMost: .seconds(3), clock: clock)
        await clock.waitForSleepers { $0 == [.seconds(3)] }
        clock.advance(by: .seconds(3))
        await wait
        #expect(latch.waiterCount == 0 && !signal.isAwaited, "no waiter is left")
        #expect(clock.remaining.isEmpty)
    }

    @Test("A wait that ends early leaves no sleep behind", arguments: [true, false])
    func beforeTheTime(_ isLatch: Bool) async {
        let (clock, latch, signal) = (ManualClock(), Latch(), Signal())
        async let wait: Void = latch.wait(orFor: signal, atMost: .seconds(3), clock: clock)
        await clock.waitForSleepers()
        if isLatch { latch.open() } else { signal.notify() }
        await wait
        #expect(clock.remaining.isEmpty)
        #expect(latch.waiterCount == 0 && !signal.isAwaited)
    }
}
