package import LFSStorage
package import LFSSystem

/// The durable queue, of which the pool holds a window in memory. It makes no decisions about order or retries.
package protocol TransferJournal: Sendable {
    /// Returns the due jobs of a lane, the oldest first, without those that the pool already has in memory.
    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage

    /// Decides right before an upload whether it is still needed. It opens the file on the threads of the caller, which
    /// may block.
    func check(_ job: TransferJob) async throws -> UploadDecision

    /// Makes all of the outcomes durable together.
    ///
    /// - Returns: the uploaded files whose rows were deleted in the meantime.
    func record(_ outcomes: [TransferOutcome]) async throws -> Set<FileID>

    /// Makes the outage of the whole storage and its reason durable, or clears it with nil.
    func note(outage: StorageError?) async throws

    /// Makes the checkpoint of a running upload durable.
    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws
}

/// A page of due jobs of a lane.
package struct TransferPage: Sendable {
    package var jobs: [TransferJob]
    /// The time until another job of the lane is due, or nil if none waits.
    package var nextDue: Duration?

    package init(jobs: [TransferJob], nextDue: Duration?) {
        self.jobs = jobs
        self.nextDue = nextDue
    }
}

/// The decision whether an upload is needed.
package enum UploadDecision: Sendable {
    case upload(UploadSource)
    case skip(SkipReason)
    /// The job cannot succeed in its current state.
    case fail(StorageError)
}
