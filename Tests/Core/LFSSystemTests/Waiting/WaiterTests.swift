import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Waiter", .timeLimit(.minutes(10)))
struct WaiterTests {
    @Test("A waiter takes the first answer, even one that comes before the wait")
    func firstAnswer() async {
        let waiter = Waiter<Int>()
        waiter.resume(returning: 1)
        waiter.resume(returning: 2)
        #expect(await waiter.wait() == 1)
    }

    @Test("A waiter gets an answer that comes while the wait begins")
    func meeting() async {
        let (rounds, next) = (20_000, Handover())
        // A thread of its own that polls and then counts down, longer in each round. So the answer comes before the
        // wait, while the wait begins, and during it.
        DispatchQueue(label: "answers").async {
            for round in 1...rounds {
                let waiter = next.take()
                var countdown = round % 200
                while countdown > 0 { countdown -= 1 }
                waiter.resume(returning: round)
            }
        }
        for round in 1...rounds {
            let waiter = Waiter<Int>()
            next.put(waiter)
            #expect(await waiter.wait() == round)
        }
    }

    /// Hands over one waiter after the other.
    private final class Handover: Sendable {
        private let waiter = Mutex<Waiter<Int>?>(nil)

        func put(_ next: Waiter<Int>) { waiter.withLock { $0 = next } }

        func take() -> Waiter<Int> {
            while true {
                let next = waiter.withLock { waiter in
                    defer { waiter = nil }
                    return waiter
                }
                if let next { return next }
            }
        }
    }

    @Test("A waiter learns of a cancellation before the wait and during it", arguments: [true, false])
    func cancellation(_ isBefore: Bool) async throws {
        let (waiter, mayWait) = (Waiter<String>(), Latch())
        let task = Task {
            await mayWait.waitThroughCancellation()
            return await waiter.wait { waiter.resume(returning: "cancelled") }
        }
        if isBefore { task.cancel() }
        mayWait.open()
        task.cancel()
        #expect(await task.value == "cancelled")
    }
}
