import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

/// Tests of one sync that serves all callers of about the same time.
@Suite("Shared sync", .timeLimit(.minutes(10)))
struct SharedSyncTests {
    /// A sync that a test holds. It records that it began and ends when the test releases it.
    final class HeldSync: Sendable {
        let begun = EventLog<Int>()
        private let gate = DispatchSemaphore(value: 0)

        func run(failing: Bool = false) throws(SystemError) {
            begun.add(1)
            gate.wait()
            if failing { throw SystemError(call: "fsync", path: "here", errno: 5) }
        }

        func release() { gate.signal() }
        func waitUntilBegun(_ count: Int) async { await begun.wait { $0.count >= count } }
    }

    /// Threads for the calls, because the calls block.
    private let threads = BlockingPool(width: 16)

    private func run(_ sync: SharedSync) async throws { try await threads.run { _ in try sync.run() } }

    @Test("A caller that arrives during a sync is served by a later one")
    func laterSync() async throws {
        let held = HeldSync()
        let sync = SharedSync { () throws(SystemError) in try held.run() }
        let ended = EventLog<Int>()
        let first = Task {
            try await run(sync)
            ended.add(1)
        }
        await held.waitUntilBegun(1)
        let second = Task {
            try await run(sync)
            ended.add(2)
        }
        held.release()
        try await first.value
        await held.waitUntilBegun(2)
        #expect(ended.events == [1], "the second caller waits for the second sync")
        held.release()
        try await second.value
        #expect(held.begun.events.count == 2)
    }

    @Test("A failed sync fails for all its waiting callers, and the next one starts over")
    func failure() async throws {
        let held = HeldSync()
        let isBroken = Mutex(true)
        let sync = SharedSync { () throws(SystemError) in try held.run(failing: isBroken.withLock { $0 }) }
        let tasks = (1...8).map { _ in Task { try await run(sync) } }
        await held.waitUntilBegun(1)
        for _ in 1...8 { held.release() }
        for task in tasks { await #expect(throws: SystemError.self) { try await task.value } }
        isBroken.withLock { $0 = false }
        held.release()
        try await run(sync)
    }

    @Test("A shared sync ends for each of many callers")
    func manyCallers() async throws {
        let count = Mutex(0)
        let sync = SharedSync { () throws(SystemError) in count.withLock { $0 += 1 } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...2_000 { group.addTask { try await run(sync) } }
            try await group.waitForAll()
        }
        #expect((1...2_000).contains(count.withLock { $0 }))
    }
}
