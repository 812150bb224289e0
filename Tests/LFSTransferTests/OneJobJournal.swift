import LFSStorage
import LFSSystem
import Synchronization
import TestSupport

@testable import LFSTransfer

/// A queue of one job that is due again and again.
///
/// Owner of its state: the mutex.
final class OneJobJournal: TransferJournal {
    private let isDue = Mutex(false)
    /// What happens after the outcome was written and before the pool knows that.
    private let afterRecord: @Sendable (OneJobJournal) async -> Void
    /// Whether the job was in the pages that were read.
    let reads = EventLog<Bool>()
    /// Rings when the job has been recorded.
    let recorded = Signal()

    init(afterRecord: @escaping @Sendable (OneJobJournal) async -> Void = { _ in }) {
        self.afterRecord = afterRecord
    }

    func makeDue() { isDue.withLock { $0 = true } }

    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage {
        guard lane == .small else { return TransferPage(jobs: [], nextDue: nil) }
        let isThere = held.isEmpty && isDue.withLock { $0 }
        reads.add(isThere)
        let job = TransferJob(
            id: "a", key: try ObjectKey("test/a"), byteCount: 1, content: .ofNothing, attempts: 0, checkpoint: nil)
        return TransferPage(jobs: isThere ? [job] : [], nextDue: nil)
    }

    func check(_ job: TransferJob) async throws -> UploadDecision { .skip(.notPending) }

    func record(_ outcomes: [TransferOutcome]) async throws {
        isDue.withLock { $0 = false }
        await afterRecord(self)
        recorded.notify()
    }

    func note(outage: StorageError?) async throws {}

    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {}
}
