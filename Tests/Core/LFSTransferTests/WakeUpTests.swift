import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Lost wake-ups of a pool", .timeLimit(.minutes(10)))
struct WakeUpTests {
    private let memory = InMemoryStorage()

    @Test("The pool looks again for a skipped job, because it may have been inserted again")
    func skipped() async throws {
        let rounds = EventLog<Int>()
        let journal = OneJobJournal { journal in
            rounds.add(1)
            // The job was added again, and its wake-up came before the pool dropped the old job.
            if rounds.events.count == 1 { journal.makeDue() }
        }
        let pool = ExecutorPool(storage: memory, journal: journal, maxExecutors: 1, clock: ManualClock())
        journal.makeDue()
        let run = Task { await pool.run() }
        await rounds.wait { $0.count == 2 }
        pool.stop()
        await run.value
    }

    @Test("The pool looks again for a waiting job that was cancelled")
    func cancelledAndQueued() async throws {
        let journal = InMemoryJournal(clock: ManualClock()) { _ in .skip(.notPending) }
        try await withPool(memory, journal: journal) { harness in
            await harness.events.wait { !$0.isEmpty }
            harness.pool.pause()
            try journal.add(["a"])
            harness.pool.wake()
            await journal.reads.wait { $0.contains(1) }
            // A retry queued the job again. The pool's read skips it, because the pool still holds the old one.
            let count = journal.reads.events.count
            harness.pool.wake()
            await journal.reads.wait { $0.count > count }
            harness.pool.cancel("a")
            await journal.reads.wait { $0.count { $0 == 1 } == 2 }
            harness.pool.resume()
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("A probe that ends without an answer lets a deletion probe the storage")
    func probeWithoutAnswer() async throws {
        let storage = FailingStorage(memory, times: 1, with: StorageError(.unauthorized, message: "Expired."))
        let source = try UploadSource.temporary([1, 2, 3])
        let clock = ManualClock()
        let flag = Flag()
        let journal = InMemoryJournal(clock: clock) { _ in flag.isSet ? .skip(.notPending) : .upload(source) }
        try await withPool(storage, jobs: ["a"], journal: journal, clock: clock) { harness in
            await harness.events.wait { $0.contains { $0.outage == "unauthorized" } }
            #expect(harness.pool.admitDeletion() == nil)
            flag.set()
            harness.pool.resume()
            await harness.events.wait { $0.contains { if case .probeIsDue = $0 { true } else { false } } }
            #expect(harness.pool.admitDeletion() == .probe)
            harness.pool.endDeletion(.probe, error: nil)
        }
    }
}

/// A flag that is set once, from any task.
private final class Flag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .relaxed) }
    func set() { state.store(true, ordering: .relaxed) }
}
