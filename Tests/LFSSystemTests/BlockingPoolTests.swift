import Dispatch
import TestSupport
import Testing

@testable import LFSSystem

@Suite("The pool of blocking threads", .timeLimit(.minutes(1)))
struct BlockingPoolTests {
    struct Refusal: Error {}

    @Test("runs as many calls at once as it is wide, and the others after them", arguments: [1, 3])
    func width(_ width: Int) async throws {
        let pool = BlockingPool(width: width)
        let begun = EventLog<Int>()
        let gate = DispatchSemaphore(value: 0)
        let steps = EventLog<Int>()
        let tasks = (0..<10).map { number in
            Task {
                try await pool.run { _ in
                    steps.add(1)
                    begun.add(number)
                    gate.wait()
                    steps.add(-1)
                }
            }
        }
        await begun.wait { $0.count == width }
        for _ in 0..<10 { gate.signal() }
        for task in tasks { try await task.value }
        var inside = 0
        let levels = steps.events.map { step in
            inside += step
            return inside
        }
        #expect(levels.max() == width)
        #expect(Set(begun.events) == Set(0..<10))
    }

    @Test("tells a call that its task was cancelled")
    func cancellation() async throws {
        let pool = BlockingPool(width: 1)
        let begun = EventLog<Int>()
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            try await pool.run { flag in
                begun.add(flag.isCancelled ? 1 : 0)
                gate.wait()
                try flag.check()
            }
        }
        await begun.wait { !$0.isEmpty }
        task.cancel()
        gate.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(begun.events == [0])
    }

    @Test("passes results and errors on")
    func results() async throws {
        let pool = BlockingPool(width: 2)
        #expect(try await pool.run { _ in 42 } == 42)
        await #expect(throws: Refusal.self) { try await pool.run { _ in throw Refusal() } }
        #expect(try await pool.run { _ in "again" } == "again")
    }
}
