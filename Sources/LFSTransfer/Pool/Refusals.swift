import LFSStorage
import LFSSystem

/// Which files the storage has refused by an answer that may be about them alone or about all of them.
///
/// `forbidden` is the answer to a key that a policy excludes, and to credentials that were taken every right. The file
/// waits as long as no other file is taken; one that is refused again and again while others are taken is to blame.
struct Refusals {
    private struct Refusal {
        /// How often it was refused, with another file taken since the time before.
        var count = 0
        /// How many files had been taken when it was refused last.
        var accepted = -1
    }

    /// With fewer, credentials that come and go could cost a file.
    static let maxRefusals = 3

    private var refused: [FileID: Refusal] = [:]
    private var accepted = 0

    func contains(_ id: FileID) -> Bool { refused[id] != nil }

    /// The outcome as it is to be recorded.
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
