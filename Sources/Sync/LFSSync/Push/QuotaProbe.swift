import GRDB
import LFSWire

/// The release of changes that wait for room in the account.
///
/// A push releases one of them after all other changes. If the server accepts it, the push releases twice as many, and
/// so on. After a refusal, only an accepted deletion makes another attempt worthwhile.
struct QuotaProbe: Sendable {
    private var count = 1
    private var mayHaveRoom = true
    private var hasReleasedAll = false

    /// Takes account of answers.
    mutating func note(_ results: [SyncMutationResult], of sent: [Outbox.Frozen]) {
        hasReleasedAll = false
        for (result, change) in zip(results, sent) {
            switch result.outcome {
            case .rejected(let failure, _) where failure.code == .quotaExceeded:
                mayHaveRoom = false
                count = 1
            case .applied where change.isDeletion: mayHaveRoom = true
            case .applied, .conflict, .rejected: break
            }
        }
    }

    /// Releases the next changes.
    ///
    /// - Returns: false if no change was released.
    mutating func release(_ db: Database) throws -> Bool {
        guard mayHaveRoom, !hasReleasedAll else { return false }
        let released = try Outbox.releaseOverQuota(count, db)
        // A change may wait for the row that it refers to. Another release of the same changes would be in vain.
        hasReleasedAll = released < count
        count = min(count * 2, 1 << 20)
        return released > 0
    }
}
