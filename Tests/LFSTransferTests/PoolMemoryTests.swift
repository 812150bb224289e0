import Foundation
import LFSStorage
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

#if os(Linux)
@Suite("The memory of a pool", .timeLimit(.minutes(5)))
struct PoolMemoryTests {
    /// Every round starts an executor that leaves again. Other tests run beside this one, so the limit is a wide one.
    @Test("does not grow with the executors that came and left")
    func executorsThatLeft() async throws {
        let journal = OneJobJournal()
        let pool = ExecutorPool(storage: InMemoryStorage(), journal: journal, maxExecutors: 1, clock: ManualClock())
        let run = Task { await pool.run() }
        let before = try residentKilobytes()
        for round in 1...15_000 {
            journal.makeDue()
            pool.wake()
            while journal.recorded < round, !Task.isCancelled { await Task.yield() }
        }
        #expect(try residentKilobytes() - before < 60_000)
        pool.stop()
        await run.value
    }

    private func residentKilobytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}

/// A queue of one job that is due again and again.
///
/// Owner of its state: the mutex.
final class OneJobJournal: TransferJournal {
    private let state = Mutex((isDue: false, recorded: 0))

    var recorded: Int { state.withLock { $0.recorded } }

    func makeDue() { state.withLock { $0.isDue = true } }

    func page(_ lane: TransferLane, limit: Int, excluding held: Set<String>) async throws -> TransferPage {
        guard lane == .small, held.isEmpty, state.withLock({ $0.isDue }) else {
            return TransferPage(jobs: [], nextDue: nil)
        }
        let job = TransferJob(id: "a", key: try ObjectKey("test/a"), byteCount: 1, attempts: 0, checkpoint: nil)
        return TransferPage(jobs: [job], nextDue: nil)
    }

    func check(_ job: TransferJob) async throws -> UploadDecision { .skip(.notPending) }

    func record(_ outcomes: [TransferOutcome]) async throws {
        state.withLock { $0 = (isDue: false, recorded: $0.recorded + 1) }
    }

    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {}
}
#endif
