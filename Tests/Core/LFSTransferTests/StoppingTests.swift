import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Stopping a pool", .timeLimit(.minutes(10)))
struct StoppingTests {
    private let memory = InMemoryStorage()

    /// Starts a pool whose uploads wait at the gate, and returns when `run()` has returned.
    private func withHeldPool(
        _ gate: GatedStorage, journal: InMemoryJournal, clock: ManualClock,
        _ body: (ExecutorPool, Task<Void, Never>) async throws -> Void
    ) async throws {
        let pool = ExecutorPool(storage: gate, journal: journal, maxExecutors: 3, clock: clock)
        let run = Task { await pool.run() }
        await gate.waitForArrivals(3)
        try await body(pool, run)
        await run.value
        #expect(pool.isIdle && pool.runningCount == 0)
    }

    private func journal(_ clock: ManualClock) throws -> InMemoryJournal {
        let source = try UploadSource.temporary([1, 2, 3])
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        try journal.add(numbers(0..<12))
        return journal
    }

    @Test("Stopping lets running uploads end and starts no other")
    func graceful() async throws {
        let clock = ManualClock()
        let gate = GatedStorage(memory)
        let journal = try journal(clock)
        try await withHeldPool(gate, journal: journal, clock: clock) { pool, _ in
            pool.stop()
            gate.open()
        }
        #expect(gate.arrivals.count == 3)
        #expect(journal.endings.count { $0.value == .uploaded } == 3)
    }

    @Test("Stopping returns unfinished uploads to the queue after the grace period")
    func gracePeriod() async throws {
        let clock = ManualClock()
        let gate = GatedStorage(memory)
        let journal = try journal(clock)
        try await withHeldPool(gate, journal: journal, clock: clock) { pool, _ in
            pool.stop()
            await clock.waitForSleepers { $0.contains(.seconds(10)) }
            clock.advance(by: .seconds(9))
            #expect(gate.waiting.count == 3)
            clock.advance(by: .seconds(1))
        }
        #expect(journal.endings.isEmpty && memory.keys.isEmpty)
        #expect(numbers(0..<12).allSatisfy { journal.attempts(of: $0) == 0 }, "no attempt is counted")
        try await withPool(memory, journal: journal, clock: clock) { await $0.waitForEnd(of: 12) }
        #expect(memory.keys.count == 12)
    }

    @Test("Cancelling the task of a pool returns all uploads to the queue at once")
    func cancelledRun() async throws {
        let clock = ManualClock()
        let gate = GatedStorage(memory)
        let journal = try journal(clock)
        try await withHeldPool(gate, journal: journal, clock: clock) { _, run in run.cancel() }
        #expect(memory.keys.isEmpty && journal.endings.isEmpty)
    }

    @Test("A pool that is stopped before it runs ends at once")
    func stoppedBefore() async throws {
        let clock = ManualClock()
        let pool = ExecutorPool(storage: memory, journal: try journal(clock), maxExecutors: 3, clock: clock)
        pool.stop()
        await pool.run()
        #expect(memory.keys.isEmpty)
    }

    @Test("Cancelling one upload does not affect the others")
    func cancelOne() async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: 2, jobs: ["a", "b", "c"]) { harness in
            await gate.waitForArrivals(2)
            let running = gate.waiting.map { FileID(named: String($0.rawValue.dropFirst("test/".count))) }
            harness.journal.withdraw(running[0])
            harness.pool.cancel(running[0])
            gate.pass(try ObjectKey("test/" + running[1].name))
            await gate.waitForArrivals(3)
            gate.open()
            await harness.waitForEnd(of: 3)
            #expect(harness.journal.endings[running[0]] == .skipped)
            #expect(memory.keys.count == 2)
        }
    }

    @Test("Cancelling the only running upload lets the waiting ones continue")
    func cancelOnly() async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: 1, jobs: ["a", "b", "c"]) { harness in
            await gate.waitForArrivals(1)
            harness.journal.withdraw("a")
            harness.pool.cancel("a")
            await gate.waitForArrivals(2)
            #expect(harness.pool.executorCount == 1)
            gate.open()
            await harness.waitForEnd(of: 3)
            #expect(harness.journal.endings["a"] == .skipped)
            #expect(memory.keys.count == 2)
        }
        #expect(gate.arrivals.count == 3)
    }

    @Test("Cancelling a waiting job removes it from the queue")
    func cancelWaiting() async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: 1, jobs: ["a", "b"]) { harness in
            await gate.waitForArrivals(1)
            harness.journal.withdraw("b")
            harness.pool.cancel("b")
            gate.open()
            await harness.events.wait { $0.contains { $0.uploadedID == "a" } }
        }
        #expect(memory.keys.map(\.rawValue) == ["test/a"])
    }
}
