import LFSSystem
import TestSupport
import Testing

@Suite("Running a body for each element", .timeLimit(.minutes(10)))
struct RunEachTests {
    private struct Refusal: Error, Equatable { let element: Int }

    @Test("The results contain what each call returns", arguments: [-1, 1, 3, 100])
    func results(_ limit: Int) async {
        let doubled = await runEach(0..<20, atMost: limit) { $0 * 2 }
        #expect(doubled.sorted() == (0..<20).map { $0 * 2 })
        #expect(await runEach([Int](), atMost: limit) { $0 }.isEmpty)
    }

    @Test("At most the given number of calls run at once")
    func limit() async {
        let (log, gates) = (EventLog<Int>(), (0..<4).map { _ in Latch() })
        async let ended = runEach(0..<4, atMost: 2) { element in
            log.add(element)
            await gates[element].wait()
            return element
        }
        await log.wait { $0.count == 2 }
        #expect(Set(log.events) == [0, 1])
        gates[1].open()
        await log.wait { $0.count == 3 }
        #expect(log.events.last == 2)
        gates[2].open()
        await log.wait { $0.count == 4 }
        #expect(log.events.last == 3)
        gates[3].open()
        gates[0].open()
        #expect(await ended.prefix(2) == [1, 2])
    }

    @Test("The first error is thrown after the running calls have ended")
    func failure() async throws {
        let (log, held, other) = (EventLog<Int>(), Latch(), Latch())
        let running = Task {
            try await runEach(0..<10, atMost: 2) { (element: Int) throws(Refusal) in
                log.add(element)
                if element == 0 {
                    await other.waitThroughCancellation()
                    throw Refusal(element: element)
                }
                other.open()
                let never = Latch()
                await never.wait()
                await held.waitThroughCancellation()
            }
        }
        try await yield(while: held.waiterCount == 0)
        held.open()
        await #expect(throws: Refusal(element: 0)) { try await running.value }
        #expect(Set(log.events) == [0, 1], "no further item starts")
    }

    @Test("Cancelling the task cancels all running calls")
    func cancelled() async {
        let task = Task {
            await runEach(0..<3, atMost: 3) { _ in
                let never = Latch()
                await never.wait()
            }.count
        }
        task.cancel()
        #expect(await task.value == 3)
    }
}
