import LFSStorage
import LFSSystem

/// The files that the storage has rejected with an answer that may concern them alone or all files.
///
/// A storage answers `forbidden` for a key that its policy excludes, and also if the credentials have lost all
/// permissions. In the second case the file is not the cause. So a rejected file waits while no other file is accepted.
/// It fails after ``maxRefusals`` rejections, with another file accepted between each two of them.
struct Refusals {
    private struct Refusal {
        /// The number of rejections. A rejection counts only if the storage has accepted another file since the
        /// previous one.
        var count = 0
        /// The number of accepted files at the time of the last rejection.
        var accepted = -1
    }

    /// With a lower limit, a file could fail because credentials were rejected for a moment.
    static let maxRefusals = 3

    private var refused: [FileID: Refusal] = [:]
    private var accepted = 0

    func contains(_ id: FileID) -> Bool { refused[id] != nil }

    /// Returns the outcome to record.
    mutating func judge(_ outcome: TransferOutcome) -> TransferOutcome {
        let id = outcome.job.id
        guard case .waiting(let error) = outcome.result else {
            if case .uploaded = outcome.result { accepted += 1 }
            refused[id] = nil
            return outcome
        }
        guard error.code == .forbidden else { return outcome }
        var refusal = refused[id] ?? Refusal()
        if refusal.accepted < accepted { refusal.count += 1 }
        refusal.accepted = accepted
        refused[id] = refusal.count < Self.maxRefusals ? refusal : nil
        return refusal.count < Self.maxRefusals ? outcome : TransferOutcome(job: outcome.job, result: .failed(error))
    }
}
