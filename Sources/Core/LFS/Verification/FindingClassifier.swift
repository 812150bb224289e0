import LFSDatabase
import LFSStorage
import LFSSystem

/// The problem that a comparison shows for a file, and its repair. It is a pure function of the comparison.
struct FindingClassifier {
    /// The side of a file that a finding concerns. With it, two passes over the rows do not report the same problem
    /// twice.
    enum Side { case local, remote }

    let comparison: FileComparison
    /// The latest time for a queued upload, in milliseconds since 1970. A later time was set before the clock was set
    /// back.
    let furthest: Int64

    func finding(_ side: Side) -> VerifyFinding? {
        switch side {
        case .local: local
        case .remote: remote
        }
    }

    private var local: VerifyFinding? {
        switch comparison.local {
        case .missing: missing
        case .wrongLength: damaged(.wrongLengthLocally)
        case .corrupted: damaged(.corruptedLocally)
        case .unknown: unreadable
        case .good: stuck
        }
    }

    private var isRemote: Bool { comparison.file.status == .remote }

    private var missing: VerifyFinding? {
        guard !isRemote, comparison.isOurs else { return stuck }
        var finding = finding(.missingLocally, message: "Its bytes are missing on this device")
        finding.found = nil
        if !offerObject(for: &finding, proven: "them") { finding.message += ", and the storage does not have them." }
        guard comparison.closedPlaces.isEmpty else {
            let place = comparison.closedPlaces[0]
            finding.message += " They may be in \(place), which cannot be read. Is its disk mounted?"
            return finding
        }
        return asLoss(finding)
    }

    private func damaged(_ kind: VerifyFinding.Kind) -> VerifyFinding {
        var finding = finding(
            kind,
            message: kind == .wrongLengthLocally
                ? "Its local bytes have another size" : "Its local bytes have changed")
        finding.found = comparison.localFile.status.map { status in
            .init(byteCount: status.byteCount, sha256: comparison.localFile.sha256)
        }
        if !offerObject(for: &finding) {
            finding.repair = .quarantine
            finding.message += ", and no correct ones were found."
        }
        // For a `remote` file the finding of the object reports the loss, if there is one.
        guard isRemote else { return asLoss(finding) }
        finding.isLoss = comparison.isKnownLoss && finding.repair == .fetch
        return finding
    }

    /// The finding for bytes that cannot be read. They are neither moved nor given up, because a later attempt may read
    /// them.
    private var unreadable: VerifyFinding {
        var finding = finding(.unreadableLocally, message: "Its local bytes cannot be read\(whyUnreadable)")
        if !offerObject(for: &finding) {
            finding.message += ", and the storage does not have the correct ones. They stay in their place."
            finding.needsOriginal = true
        }
        return finding
    }

    private var whyUnreadable: String {
        guard case .unreadable(_, let error) = comparison.localFile else { return "" }
        return " (\(error.reason))"
    }

    /// Adds to the finding what the storage has for the local bytes, and a repair by download if the object may be
    /// correct.
    ///
    /// - Returns: false, with nothing added, when the storage has no object that may be correct.
    private func offerObject(for finding: inout VerifyFinding, proven words: String = "the correct ones") -> Bool {
        switch comparison.remote {
        case .good:
            finding.repair = .fetch
            finding.message += ", but the storage has \(comparison.isProvenRemote ? words : "an object of its size")."
        case .unknown: finding.message += ", and the storage \(whyUnknown)."
        default: return false
        }
        return true
    }

    private var remote: VerifyFinding? {
        guard isRemote else { return nil }
        // The recorded damage of an object is reported with its row, except where a finding about the local bytes comes
        // first.
        if isNotedAsDamaged { return [.good, .missing].contains(comparison.local) ? nil : damagedRemotely }
        if !comparison.hasUsableKey { return unusableKey }
        let kind: VerifyFinding.Kind
        switch comparison.remote {
        case .missing: kind = .missingRemotely
        case .wrongLength: kind = .wrongLengthRemotely
        case .corrupted: kind = .corruptedRemotely
        case .good, .unknown: return nil
        }
        let isGoodLocally = comparison.local == .good
        // The object is already being uploaded again.
        if isGoodLocally, comparison.row.job == .queued { return nil }
        let words: [VerifyFinding.Kind: String] = [
            .missingRemotely: "The storage does not have its object",
            .wrongLengthRemotely: "Its object has another size", .corruptedRemotely: "Its object has other bytes",
        ]
        var finding = finding(kind, message: words[kind] ?? "")
        if case .present(let object) = comparison.object {
            finding.found = .init(byteCount: object.byteCount, sha256: object.sha256)
        }
        if comparison.local == .unknown {
            finding.message += ", and the local bytes cannot be read."
            return finding
        }
        guard isGoodLocally else {
            finding.message += ", and the correct bytes are not on this device."
            return asLoss(finding)
        }
        finding.repair = .upload
        finding.message += ", but the correct bytes are on this device."
        return finding
    }

    /// The finding for a file whose bytes are in their place, but whose job is wrong.
    private var stuck: VerifyFinding? {
        if !isRemote, comparison.isOurs, !comparison.hasUsableKey { return unusableKey }
        if isRemote { return noted }
        guard comparison.local == .good else { return nil }
        var finding = finding(.uploadStuck, message: "")
        switch comparison.row.job {
        case .failed where comparison.row.isNotedAsLost:
            finding.message = "It was recorded as lost, but its bytes are on this device again."
        case .failed:
            finding.message = "Its upload was given up: \(comparison.row.errorMessage ?? "for an unknown reason")"
        case nil where comparison.isOurs: finding.message = "Its upload is not queued."
        case .queued where comparison.row.notBefore > furthest:
            finding.message = "Its upload is scheduled too far in the future. Was the clock set back?"
        default: return nil
        }
        finding.repair = .upload
        return finding
    }

    private var whyUnknown: String { comparison.hasUsableKey ? "was not asked" : "does not accept its key" }

    private var unusableKey: VerifyFinding {
        finding(
            .unusableKey,
            message: "No storage accepts its key '\(comparison.file.key)': another program has written the row.")
    }

    private var isNotedAsDamaged: Bool { isRemote && comparison.row.isSuspect && comparison.row.job == .failed }

    /// The finding for a `remote` file whose object gave other bytes or none when it was read, whatever the storage
    /// says.
    private var damagedRemotely: VerifyFinding {
        let kind: VerifyFinding.Kind
        switch comparison.remote {
        case .missing: kind = .missingRemotely
        case .wrongLength: kind = .wrongLengthRemotely
        case .corrupted, .good, .unknown: kind = .corruptedRemotely
        }
        var finding = finding(
            kind, message: "Its object was found damaged: \(comparison.row.errorMessage ?? "for an unknown reason")")
        if case .present(let object) = comparison.object { finding.found = .init(byteCount: object.byteCount) }
        finding.isKnown = comparison.row.isNotedAsLost
        if comparison.local == .good {
            finding.repair = .upload
            finding.message += " The correct bytes are on this device."
        } else {
            // Only another download can show that the transfer was at fault, and not the object.
            finding.repair = comparison.remote == .good ? .fetch : nil
            finding.isLoss = comparison.local != .unknown
            finding.message +=
                finding.isLoss ? " The correct bytes are not on this device." : " The local bytes cannot be read."
        }
        return finding
    }

    /// The finding for a `remote` file with a recorded problem, although the storage has an object that may be correct.
    private var noted: VerifyFinding? {
        if isNotedAsDamaged { return damagedRemotely }
        guard comparison.row.job == .failed, comparison.remote == .good else { return nil }
        let words = comparison.row.isNotedAsMissing ? "missing on the storage" : "lost"
        var finding = finding(.uploadStuck, message: "It was recorded as \(words), but the storage has it.")
        finding.repair = .clear
        // An object of the right size may be the one that was there before.
        if comparison.row.isNotedAsMissing { return finding }
        if comparison.isProvenRemote { return finding }
        if comparison.local == .good {
            finding.message = "It was recorded as lost, but the correct bytes are on this device."
            finding.repair = .upload
        } else {
            finding.message = """
                It was recorded as lost. The storage has an object of its size. Only a download shows whether its \
                bytes are correct.
                """
            finding.repair = .fetch
            finding.isLoss = comparison.isKnownLoss
            finding.isKnown = comparison.isKnownLoss
        }
        return finding
    }

    private func asLoss(_ finding: VerifyFinding) -> VerifyFinding {
        var finding = finding
        finding.isLoss = comparison.remote != .unknown && (finding.repair != .fetch || comparison.isKnownLoss)
        finding.isKnown = comparison.row.isNotedAsLost && finding.repair != .quarantine
        return finding
    }

    private func finding(_ kind: VerifyFinding.Kind, message: String) -> VerifyFinding {
        let file = comparison.file
        return VerifyFinding(
            kind: kind, fileID: file.id, key: file.key,
            recorded: .init(byteCount: file.byteCount, sha256: file.sha256), message: message)
    }
}
