import LFSStorage
import LFSSystem

/// Which files the storage has refused by an answer that may be about them alone or about all of them.
///
/// A storage answers `forbidden` for a key that its policy excludes, and also when the credentials have lost all their
/// rights. In the second case no file is at fault. So a refused file waits while no other file is taken. It fails when
/// it was refused ``maxRefusals`` times, with another file taken between each two refusals.
struct Refusals {
    private struct Refusal {
        /// How often it was refused, with another file taken since the time before.
        var count = 0
        /// How many files had been taken when it was refused last.
        var accepted = -1
    }

    /// With fewer, a file could fail because credentials were refused for a moment.
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
