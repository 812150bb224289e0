import LFSDatabase
import LFSStorage
import LFSSystem

/// What a comparison says is wrong with a file, and how to mend it: a pure function of it.
struct Diagnosis {
    /// On which side of a file a finding is, so that two passes over the rows do not tell the same twice.
    enum Side { case local, remote }

    let comparison: FileComparison
    /// The furthest a queued upload may be put off, in milliseconds since 1970: more comes from a clock that was set
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
        var finding = finding(.missingLocally, "Its bytes are nowhere on this device")
        finding.found = nil
        if !offerObject(for: &finding, proven: "them") { finding.message += ", and not on the storage." }
        guard comparison.closedPlaces.isEmpty else {
            let place = comparison.closedPlaces[0]
            finding.message += " They may be in \(place), which cannot be looked into: is its disk mounted?"
            return finding
        }
        return asLoss(finding)
    }

    private func damaged(_ kind: VerifyFinding.Kind) -> VerifyFinding {
        var finding = finding(
            kind,
            kind == .wrongLengthLocally ? "Its local bytes are cut off or too many" : "Its local bytes have changed")
        finding.found = comparison.localFile.status.map { status in
            .init(byteCount: status.byteCount, sha256: comparison.localFile.sha256)
        }
        if !offerObject(for: &finding) {
            finding.repair = .quarantine
            finding.message += ", and no right ones were found."
        }
        // Of a `remote` file the object's own finding tells the loss, if there is one.
        guard isRemote else { return asLoss(finding) }
        finding.isLoss = comparison.isKnownLoss && finding.repair == .fetch
        return finding
    }

    /// Its bytes are neither moved nor given up: a later reading may get them.
    private var unreadable: VerifyFinding {
        var finding = finding(.unreadableLocally, "Its local bytes cannot be read\(whyUnreadable)")
        if !offerObject(for: &finding) {
            finding.message += ", and the storage does not have the right ones. They stay where they are."
            finding.needsOriginal = true
        }
        return finding
    }

    private var whyUnreadable: String {
        guard case .unreadable(_, let error) = comparison.localFile else { return "" }
        return " (\(error.reason))"
    }

    /// Says what the storage has in the place of local bytes, and has it fetched where it may be right.
    ///
    /// - Returns: false where the storage has nothing that may be right; nothing is said then.
    private func offerObject(for finding: inout VerifyFinding, proven words: String = "the right ones") -> Bool {
        switch comparison.remote {
        case .good:
            finding.repair = .fetch
            finding.message += "; the storage has \(comparison.isProvenRemote ? words : "an object of its size")."
        case .unknown: finding.message += "; the storage \(whyUnknown)."
        default: return false
        }
        return true
    }

    private var remote: VerifyFinding? {
        guard isRemote else { return nil }
        // What was seen of a damaged object is told with its note, except where the local bytes were told before it.
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
        // It is being made again already.
        if isGoodLocally, comparison.row.job == .queued { return nil }
        let words: [VerifyFinding.Kind: String] = [
            .missingRemotely: "The storage does not have its object",
            .wrongLengthRemotely: "Its object has another size", .corruptedRemotely: "Its object has other bytes",
        ]
        var finding = finding(kind, words[kind] ?? "")
        if case .present(let object) = comparison.object {
            finding.found = .init(byteCount: object.byteCount, sha256: object.sha256)
        }
        if comparison.local == .unknown {
            finding.message += ", and the local bytes cannot be read."
            return finding
        }
        guard isGoodLocally else {
            finding.message += ", and the right bytes are not here."
            return asLoss(finding)
        }
        finding.repair = .upload
        finding.message += "; the right bytes are here."
        return finding
    }

    /// The bytes are where they should be, but the job is not as it should be.
    private var stuck: VerifyFinding? {
        if !isRemote, comparison.isOurs, !comparison.hasUsableKey { return unusableKey }
        if isRemote { return noted }
        guard comparison.local == .good else { return nil }
        var finding = finding(.uploadStuck, "")
        switch comparison.row.job {
        case .failed where comparison.row.isNotedAsLost:
            finding.message = "It was noted as lost, but its bytes are here again."
        case .failed:
            finding.message = "Its upload was given up: \(comparison.row.errorMessage ?? "for an unknown reason")"
        case nil where comparison.isOurs: finding.message = "Its upload is not queued."
        case .queued where comparison.row.notBefore > furthest:
            finding.message = "Its upload is put off too far: was the clock set back?"
        default: return nil
        }
        finding.repair = .upload
        return finding
    }

    private var whyUnknown: String { comparison.hasUsableKey ? "was not asked" : "takes no such key" }

    private var unusableKey: VerifyFinding {
        finding(.unusableKey, "No storage takes its key '\(comparison.file.key)': another program has written the row.")
    }

    private var isNotedAsDamaged: Bool { isRemote && comparison.row.isSuspect && comparison.row.job == .failed }

    /// A `remote` file from whose object somebody has read other bytes, or none, whatever the storage says of it.
    private var damagedRemotely: VerifyFinding {
        let kind: VerifyFinding.Kind
        switch comparison.remote {
        case .missing: kind = .missingRemotely
        case .wrongLength: kind = .wrongLengthRemotely
        case .corrupted, .good, .unknown: kind = .corruptedRemotely
        }
        var finding = finding(
            kind, "Its object was found damaged: \(comparison.row.errorMessage ?? "for an unknown reason")")
        if case .present(let object) = comparison.object { finding.found = .init(byteCount: object.byteCount) }
        finding.isKnown = comparison.row.isNotedAsLost
        if comparison.local == .good {
            finding.repair = .upload
            finding.message += " The right bytes are here."
        } else {
            // Only reading it again can show that it was the way, and not the object.
            finding.repair = comparison.remote == .good ? .fetch : nil
            finding.isLoss = comparison.local != .unknown
            finding.message +=
                finding.isLoss ? " The right bytes are not here." : " The local bytes cannot be read."
        }
        return finding
    }

    /// A `remote` file that was noted, although the storage has an object that may be right.
    private var noted: VerifyFinding? {
        if isNotedAsDamaged { return damagedRemotely }
        guard comparison.row.job == .failed, comparison.remote == .good else { return nil }
        let words = comparison.row.isNotedAsMissing ? "missing on the storage" : "lost"
        var finding = finding(.uploadStuck, "It was noted as \(words), but the storage has it.")
        finding.repair = .clear
        // An object of its size is what was there before as well.
        if comparison.row.isNotedAsMissing { return finding }
        if comparison.isProvenRemote { return finding }
        if comparison.local == .good {
            finding.message = "It was noted as lost, but the right bytes are here."
            finding.repair = .upload
        } else {
            finding.message = """
                It was noted as lost. The storage has an object of its size; only fetching it shows whether it is \
                right.
                """
            finding.repair = .fetch
            (finding.isLoss, finding.isKnown) = (comparison.isKnownLoss, comparison.isKnownLoss)
        }
        return finding
    }

    private func asLoss(_ finding: VerifyFinding) -> VerifyFinding {
        var finding = finding
        finding.isLoss = comparison.remote != .unknown && (finding.repair != .fetch || comparison.isKnownLoss)
        finding.isKnown = comparison.row.isNotedAsLost && finding.repair != .quarantine
        return finding
    }

    private func finding(_ kind: VerifyFinding.Kind, _ message: String) -> VerifyFinding {
        let file = comparison.file
        return VerifyFinding(
            kind: kind, fileID: file.id, key: file.key,
            recorded: .init(byteCount: file.byteCount, sha256: file.sha256), message: message)
    }
}
