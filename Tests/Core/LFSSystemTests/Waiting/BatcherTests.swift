import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Batching", .timeLimit(.minutes(10)))
struct BatcherTests {
    /// Records each batch and holds it until the test ends it.
    private final class Batches: Sendable {
        private let begun = EventLog<[Int]>()
        private let gates = Mutex<[Latch]>([])

        var events: [[Int]] { begun.events }

        @Sendable func run(_ items: [Int]) async -> [Int] {
            let gate = Latch()
            gates.withLock { $0.append(gate) }
            begun.add(items)
            await gate.waitThroughCancellation()
            return items.map { -$0 }
        }

        func end(_ index: Int) { gates.withLock { $0[index] }.open() }
        func waitForBatches(_ count: Int) async throws { try await yield(while: begun.events.count < count) }
    }

    @Test("The first call starts a batch at once, and later calls share the next ones")
    func joins() async throws {
        let batches = Batches()
        let batching = Batcher<Int, Int>(upTo: 3, atOnce: 1, batches.run)
        var tasks = [Task { await batching.run(1) }]
        try await batches.waitForBatches(1)
        for item in 2...6 {
            tasks.append(Task { await batching.run(item) })
            try await yield(while: batching.waitingCount < item - 1)
        }
        #expect(batches.events == [[1]])
        batches.end(0)
        try await batches.waitForBatches(2)
        batches.end(1)
        try await batches.waitForBatches(3)
        batches.end(2)
        #expect(batches.events == [[1], [2, 3, 4], [5, 6]])
        for (index, task) in tasks.enumerated() { #expect(await task.value == -index - 1, "each has its outcome") }
        async let late = batching.run(7)
        try await batches.waitForBatches(4)
        batches.end(3)
        #expect(await late == -7, "the batcher restarts after an idle time")
    }

    @Test("Batches run concurrently up to the maximum")
    func atOnce() async throws {
        let batches = Batches()
        let batching = Batcher<Int, Int>(upTo: 3, atOnce: 2, batches.run)
        let first = Task { await batching.run(1) }
        try await batches.waitForBatches(1)
        let second = Task { await batching.run(2) }
        try await batches.waitForBatches(2)
        let third = Task { await batching.run(3) }
        try await yield(while: batching.waitingCount == 0)
        batches.end(1)
        try await batches.waitForBatches(3)
        #expect(batches.events == [[1], [2], [3]])
        batches.end(0)
        batches.end(2)
        for task in [first, second, third] { _ = await task.value }
    }

    @Test("A further concurrent batch starts only for enough waiting calls")
    func crowd() async throws {
        let batches = Batches()
        let batching = Batcher<Int, Int>(upTo: 4, crowd: 3, atOnce: 2, batches.run)
        var tasks = [Task { await batching.run(1) }]
        try await batches.waitForBatches(1)
        for item in 2...3 {
            tasks.append(Task { await batching.run(item) })
            try await yield(while: batching.waitingCount < item - 1)
        }
        #expect(batches.events == [[1]])
        tasks.append(Task { await batching.run(4) })
        try await batches.waitForBatches(2)
        #expect(batches.events.last == [4, 2, 3])
        for item in 5...9 {
            tasks.append(Task { await batching.run(item) })
            try await yield(while: batching.waitingCount < item - 4)
        }
        #expect(batches.events.count == 2, "at most two batches run at once")
        batches.end(1)
        try await batches.waitForBatches(3)
        #expect(batches.events.last == [5, 6, 7, 8])
        batches.end(0)
        try await batches.waitForBatches(4)
        #expect(batches.events.last == [9], "a waiting batch takes a free place")
        batches.end(2)
        batches.end(3)
        for (index, task) in tasks.enumerated() { #expect(await task.value == -index - 1) }
    }

    @Test("Cancelling the task that runs a batch still serves all of the batch")
    func cancelled() async throws {
        let batches = Batches()
        let batching = Batcher<Int, Int>(upTo: 8, atOnce: 1, batches.run)
        let first = Task { await batching.run(1) }
        try await batches.waitForBatches(1)
        let leader = Task { await batching.run(2) }
        try await yield(while: batching.waitingCount < 1)
        let other = Task { await batching.run(3) }
        try await yield(while: batching.waitingCount < 2)
        first.cancel()
        leader.cancel()
        batches.end(0)
        try await batches.waitForBatches(2)
        batches.end(1)
        #expect(await [first.value, leader.value, other.value] == [-1, -2, -3])
    }

    @Test("Each of many tasks gets its own result within the limit of batches")
    func storm() async {
        let counts = Mutex((now: 0, most: 0))
        let batching = Batcher<Int, Int>(upTo: 7, atOnce: 2) { items in
            counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            counts.withLock { $0.now -= 1 }
            return items.map { $0 * 2 }
        }
        await withTaskGroup(of: Bool.self) { tasks in
            for item in 0..<2_000 { tasks.addTask { await batching.run(item) == item * 2 } }
            for await isRight in tasks { #expect(isRight) }
        }
        #expect(batching.waitingCount == 0)
        #expect(counts.withLock { $0.most } <= 2)
    }

    @Test("Batching keeps nothing of the items that it has served")
    func keepsNothing() async {
        final class Content: Sendable {
            let alive: Alive

            init(_ alive: Alive) {
                self.alive = alive
                alive.count.withLock { $0 += 1 }
            }

            deinit { alive.count.withLock { $0 -= 1 } }
        }
        final class Alive: Sendable {
            let count = Mutex(0)
        }
        let alive = Alive()
        let batching = Batcher<Content, Int>(upTo: 4, atOnce: 1) { items in
            await Task.yield()
            return items.map { _ in 0 }
        }
        await withTaskGroup(of: Void.self) { tasks in
            for _ in 0..<100 { tasks.addTask { _ = await batching.run(Content(alive)) } }
        }
        #expect(alive.count.withLock { $0 } == 0)
    }
}
