import LFS

/// What came of a finding, or what can be done about it, for people.
struct FindingWords {
    let finding: VerifyFinding
    /// Whether it was pushed from a file whose path is known.
    let hasOriginal: Bool
    /// Whether the storage was asked.
    let asksStorage: Bool

    init(_ finding: VerifyFinding, hasOriginal: Bool, asksStorage: Bool) {
        (self.finding, self.hasOriginal, self.asksStorage) = (finding, hasOriginal, asksStorage)
    }

    var text: String {
        switch finding.outcome {
        case .repaired: "Repaired."
        case .underWay where finding.repair.map { [.upload, .fetch, .restore].contains($0) } == true: "Being uploaded."
        case .underWay: "Being deleted."
        case .noted where finding.isKnown: known
        case .noted: "Noted as lost. \(way)"
        case .failed(let reason): "The repair failed: \(reason)"
        case .found where finding.repair == .discard: advice
        case .found where finding.isKnown: known
        case .found where isUnknown && finding.repair == nil:
            "--repair leaves it; with --remove-unknown it deletes it for good."
        case .found: advice
        }
    }

    private var unreadable: String {
        hasOriginal
            ? "Is its disk well? --repair takes its original, if that has these bytes."
            : "Is its disk well, and may you read them? Verify again then, or put the bytes back from a backup."
    }

    /// Whether no record knows it.
    private var isUnknown: Bool {
        [.orphanedLocally, .orphanedRemotely].contains(finding.kind)
            || finding.kind == .quarantined && finding.recorded == nil
    }

    private var known: String { finding.isLoss ? "Known. \(way)" : "Known." }

    /// How a loss may still come to an end.
    private var way: String {
        hasOriginal
            ? "Pushing its original heals it, if that has these bytes; 'remove' gives it up."
            : "Put its bytes back from a backup and verify with --repair, or remove it."
    }

    private var advice: String {
        switch finding.repair {
        case .upload: "--repair uploads it."
        case .fetch where finding.isLoss && hasOriginal: "--repair tries to fetch it, or takes its original."
        case .fetch: "--repair fetches it."
        case .quarantine where finding.isLoss && hasOriginal:
            "--repair moves the damaged bytes aside, and takes its original, if that has these bytes."
        case .quarantine: "--repair moves the damaged bytes aside."
        case .discard: "--repair removes them."
        case .putBack: "--repair puts them back."
        case .remove: "--repair deletes it."
        case .retry: "--repair tries it again."
        case .clear: "--repair removes the note."
        case .restore: "--repair takes its original."
        case nil where finding.isLoss && hasOriginal:
            "--repair takes its original, if that has these bytes."
        case nil where finding.isLoss: "It is lost, unless its bytes are in a backup: --repair notes it."
        case nil where !asksStorage && isLocal: "Without --local-only more can be done."
        case nil where finding.kind == .unreadableLocally: unreadable
        case nil where isLocal: "It cannot be repaired as things are."
        case nil where finding.kind == .missingRemotely || finding.kind == .wrongLengthRemotely:
            "It cannot be repaired before the local bytes can be read."
        case nil: "It cannot be repaired."
        }
    }

    private var isLocal: Bool {
        [.missingLocally, .wrongLengthLocally, .corruptedLocally, .unreadableLocally].contains(finding.kind)
    }
}
