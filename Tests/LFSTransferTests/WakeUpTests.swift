import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("A pool that nobody wakes", .timeLimit(.minutes(10)))
struct WakeUpTests {
    private let memory = InMemoryStorage()

    @Test("looks again for a job that was skipped, for its file may have been inserted again meanwhile")
    func skipped() async throws {
        let rounds = EventLog<Int>()
        let journal = OneJobJournal { journal in
            rounds.add(1)
            // The job is there anew, and the wake for it came before the pool has read the old one.
            if rounds.events.count == 1 { journal.makeDue() }
        }
        let pool = ExecutorPool(storage: memory, journal: journal, maxExecutors: 1, clock: ManualClock())
        journal.makeDue()
        let run = Task { await pool.run() }
        await rounds.wait { $0.count == 2 }
        pool.stop()
        await run.value
    }

    @Test("looks again for a job that was cancelled while it waited, for it may have been queued again before that")
    func cancelledAndQueued() async throws {
        let journal = InMemoryJournal(clock: ManualClock()) { _ in .skip(.notPending) }
        try await withPool(memory, journal: journal) { harness in
            await harness.events.wait { !$0.isEmpty }
            harness.pool.pause()
            try journal.add(["a"])
            harness.pool.wake()
            await journal.reads.wait { $0.contains(1) }
            // The retry: its look passes over the job, which the pool holds.
            let count = journal.reads.events.count
            harness.pool.wake()
            await journal.reads.wait { $0.count > count }
            harness.pool.cancel("a")
            await journal.reads.wait { $0.count { $0 == 1 } == 2 }
            harness.pool.resume()
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("during an outage tells deletions to ask when the upload that was the probe ends without an answer")
    func probeWithoutAnswer() async throws {
        let storage = FailingStorage(memory, times: 1, with: StorageError(.unauthorized, "Expired."))
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
            harness.pool.endDeletion(.probe, nil)
        }
    }
}

/// Set once, from anywhere.
private final class Flag: Sendable {
    private let state = Atomic(false)

    var isSet: Bool { state.load(ordering: .relaxed) }
    func set() { state.store(true, ordering: .relaxed) }
}
