package import LFSStorage
package import LFSSystem

/// The durable queue, of which the pool holds a window. It decides nothing about order or retry.
package protocol TransferJournal: Sendable {
    /// The jobs of a lane that are due, oldest first, without those that the pool holds already.
    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage

    /// Asks, right before an upload, whether it should happen.
    func check(_ job: TransferJob) async throws -> UploadDecision

    /// Makes outcomes durable, all of them together.
    func record(_ outcomes: [TransferOutcome]) async throws

    /// Makes durable that the storage as a whole is away or refuses us, and why, or with nil that it is not.
    func note(outage: StorageError?) async throws

    /// Makes the checkpoint of a running upload durable.
    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws
}

/// Some due jobs of a lane.
package struct TransferPage: Sendable {
    package var jobs: [TransferJob]
    /// How long until another job of the lane is due, nil when none waits.
    package var nextDue: Duration?

    package init(jobs: [TransferJob], nextDue: Duration?) {
        self.jobs = jobs
        self.nextDue = nextDue
    }
}

/// The answer to whether an upload should happen.
package enum UploadDecision: Sendable {
    case upload(UploadSource)
    case skip(SkipReason)
    /// The job can never succeed as it is.
    case fail(StorageError)
}
