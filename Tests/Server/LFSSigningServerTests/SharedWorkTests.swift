import LFSSystem
import LFSTesting
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Shared work", .timeLimit(.minutes(10)))
struct SharedWorkTests {
    /// Work that counts its runs and ends when the latch opens.
    private struct Counted: Sendable {
        let begun = Signal()
        let end = Latch()
        let count: Counter

        init() { count = Counter() }

        @Sendable func run() async throws -> Int {
            let number = count.next()
            begun.notify()
            await end.wait()
            try Task.checkCancellation()
            return number
        }
    }

    private final class Counter: Sendable {
        private let number = Mutex(0)
        var value: Int { number.withLock { $0 } }
        func next() -> Int {
            number.withLock { number in
                number += 1
                return number
            }
        }
    }

    @Test("Shared work outlives its requester, and a repeated request joins it")
    func joining() async throws {
        let (shared, work) = (SharedWork<String, Int>(), Counted())
        let first = Task { try await shared.value(for: "a", orUntil: nil, work.run) }
        await work.begun.wait()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(shared.isUnderWay("a"))
        let gone = try await shared.value(for: "a", orUntil: {}, work.run)
        #expect(gone == nil, "it is not done yet")
        async let second = shared.value(for: "a", orUntil: nil, work.run)
        work.end.open()
        #expect(try await second == 1)
        #expect(work.count.value == 1 && !shared.isUnderWay("a"))
    }

    @Test("Shared work runs again after it failed or ended, and separately for each key")
    func anew() async throws {
        let shared = SharedWork<String, Int>()
        await #expect(throws: WireFailure.self) {
            try await shared.value(for: "a", orUntil: nil) { throw WireFailure(.integrity, message: "Other.") }
        }
        #expect(try await shared.value(for: "a", orUntil: nil) { 1 } == 1)
        #expect(try await shared.value(for: "a", orUntil: nil) { 2 } == 2)
        #expect(try await shared.value(for: "b", orUntil: nil) { 3 } == 3)
    }

    @Test("Stopping the service ends its shared work and refuses new work")
    func stop() async throws {
        let (shared, work) = (SharedWork<String, Int>(), Counted())
        let asked = Task { try await shared.value(for: "a", orUntil: nil, work.run) }
        await work.begun.wait()
        await shared.stop()
        await #expect(throws: CancellationError.self) { try await asked.value }
        await #expect(throws: CancellationError.self) { try await shared.value(for: "b", orUntil: nil) { 1 } }
        #expect(!shared.isUnderWay("a"))
    }
}
