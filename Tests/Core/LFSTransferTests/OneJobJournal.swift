import LFSStorage
import LFSSystem
import Synchronization
import TestSupport

@testable import LFSTransfer

/// A queue of one job that becomes due repeatedly.
///
/// The mutex owns its state.
final class OneJobJournal: TransferJournal {
    private let isDue = Mutex(false)
    /// The work after the outcome is recorded and before the pool learns of it.
    private let afterRecord: @Sendable (OneJobJournal) async -> Void
    /// The reads so far: true if the job was in the page.
    let reads = EventLog<Bool>()
    /// Notifies when the job has been recorded.
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

    func record(_ outcomes: [TransferOutcome]) async throws -> Set<FileID> {
        isDue.withLock { $0 = false }
        await afterRecord(self)
        recorded.notify()
        return []
    }

    func note(outage: StorageError?) async throws {}

    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {}
}
