import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Permits", .timeLimit(.minutes(10)))
struct AsyncSemaphoreTests {
    /// The number of tasks inside, and its maximum so far.
    private final class Room: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }

        func visit() async {
            counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            counts.withLock { $0.now -= 1 }
        }
    }

    @Test("Permits are never exceeded or lost when tasks are cancelled at any moment", arguments: 1...20)
    func storm(_ seed: Int) async throws {
        let (permits, room) = (AsyncSemaphore(3), Room())
        let tasks = (0..<200).map { number in
            Task {
                if number % 5 == 0 { return await permits.withPermitThroughCancellation { await room.visit() } }
                try await permits.withPermit { await room.visit() }
            }
        }
        var generator = SeededGenerator(seed: UInt64(seed))
        for task in tasks.shuffled(using: &generator).prefix(120) {
            task.cancel()
            await Task.yield()
        }
        for task in tasks { _ = await task.result }
        #expect(room.most <= 3)
        for _ in 1...3 { try await permits.acquire() }
        let late = Task { try await permits.acquire() }
        try await yield(while: permits.waiterCount == 0)
        late.cancel()
        await #expect(throws: CancellationError.self) { try await late.value }
    }

    @Test("A task can wait for a permit through its cancellation")
    func throughCancellation() async throws {
        let (permits, visits) = (AsyncSemaphore(1), EventLog<Int>())
        try await permits.acquire()
        let waiting = Task { await permits.withPermitThroughCancellation { visits.add(1) } }
        try await yield(while: permits.waiterCount == 0)
        waiting.cancel()
        #expect(permits.waiterCount == 1)
        #expect(visits.events.isEmpty)
        permits.release()
        await waiting.value
        #expect(visits.events == [1])
        try await permits.acquire()
    }
}
