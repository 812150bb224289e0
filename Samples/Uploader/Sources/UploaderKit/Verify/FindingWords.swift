import LFS

/// The message about the result of a finding, or about its possible repair.
struct FindingWords {
    let finding: VerifyFinding
    /// True if it was pushed from a file whose path is known.
    let hasOriginal: Bool
    /// True if the storage was examined.
    let asksStorage: Bool

    init(_ finding: VerifyFinding, hasOriginal: Bool, asksStorage: Bool) {
        self.finding = finding
        self.hasOriginal = hasOriginal
        self.asksStorage = asksStorage
    }

    var text: String {
        switch finding.outcome {
        case .repaired: "Repaired."
        case .underWay where finding.repair.map { [.upload, .fetch, .restore].contains($0) } == true: "Being uploaded."
        case .underWay: "Being deleted."
        case .noted where finding.isKnown: known
        case .noted: "Recorded as lost. \(way)"
        case .failed(let reason): "The repair failed: \(reason)"
        case .found where finding.repair == .discard: advice
        case .found where finding.isKnown: known
        case .found where isUnknown && finding.repair == nil:
            "--repair keeps it. With --remove-unknown it deletes it for good."
        case .found: advice
        }
    }

    private var unreadable: String {
        hasOriginal
            ? "Check its disk. --repair takes its original, if that has these bytes."
            : "Check its disk and the permissions. Then verify again, or restore the bytes from a backup."
    }

    /// True if it has no record.
    private var isUnknown: Bool {
        [.orphanedLocally, .orphanedRemotely].contains(finding.kind)
            || finding.kind == .quarantined && finding.recorded == nil
    }

    private var known: String { finding.isLoss ? "Known. \(way)" : "Known." }

    /// The ways in which a loss can still be resolved.
    private var way: String {
        hasOriginal
            ? "A push of its original repairs it, if that has these bytes; 'remove' gives it up."
            : "Restore its bytes from a backup and verify with --repair, or remove it."
    }

    private var advice: String {
        switch finding.repair {
        case .upload: "--repair uploads it."
        case .fetch where finding.isLoss && hasOriginal: "--repair tries to download it, or takes its original."
        case .fetch: "--repair downloads it."
        case .quarantine where finding.isLoss && hasOriginal:
            "--repair moves the damaged bytes aside, and takes its original, if that has these bytes."
        case .quarantine: "--repair moves the damaged bytes aside."
        case .discard: "--repair removes them."
        case .putBack: "--repair puts them back."
        case .remove: "--repair deletes it."
        case .retry: "--repair retries it."
        case .clear: "--repair removes the note."
        case .restore: "--repair takes its original."
        case nil where finding.isLoss && hasOriginal:
            "--repair takes its original, if that has these bytes."
        case nil where finding.isLoss: "It is lost, unless its bytes are in a backup: --repair records this."
        case nil where !asksStorage && isLocal: "Without --local-only, more repairs are possible."
        case nil where finding.kind == .unreadableLocally: unreadable
        case nil where isLocal: "It cannot be repaired now."
        case nil where finding.kind == .missingRemotely || finding.kind == .wrongLengthRemotely:
            "It cannot be repaired before the local bytes can be read."
        case nil: "It cannot be repaired."
        }
    }

    private var isLocal: Bool {
        [.missingLocally, .wrongLengthLocally, .corruptedLocally, .unreadableLocally].contains(finding.kind)
    }
}
