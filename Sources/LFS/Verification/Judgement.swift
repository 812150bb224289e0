import LFSDatabase
import LFSStorage
import LFSSystem

/// What one look at a file says: a pure function of it.
struct Judgement {
    /// On which side of a file a finding is, so that two passes over the rows do not tell the same twice.
    enum Side { case here, there }

    let look: Look
    /// The furthest a queued upload may be put off, in milliseconds since 1970: more comes from a clock that was set back.
    let furthest: Int64

    func finding(_ side: Side) -> VerifyFinding? {
        switch side {
        case .here: here
        case .there: there
        }
    }

    private var here: VerifyFinding? {
        switch look.worthHere {
        case .missing: missing
        case .wrongLength: damaged(.wrongLengthHere)
        case .corrupted: damaged(.corruptedHere)
        case .good, .unknown: stuck
        }
    }

    private var isRemote: Bool { look.file.status == .remote }

    private var missing: VerifyFinding? {
        guard !isRemote, look.isOurs else { return stuck }
        var finding = finding(.missingHere, "Its bytes are nowhere on this device")
        finding.found = nil
        switch look.worthThere {
        case .good:
            finding.repair = .fetch
            finding.message +=
                look.isProvenThere ? "; the storage has them." : "; the storage has an object of its size."
        case .unknown: finding.message += "; the storage \(whyUnknown)."
        default: finding.message += ", and not on the storage."
        }
        guard look.closedPlaces.isEmpty else {
            let place = look.closedPlaces[0]
            finding.message += " They may be in \(place), which cannot be looked into: is its disk mounted?"
            return finding
        }
        return asLoss(finding)
    }

    private func damaged(_ kind: VerifyFinding.Kind) -> VerifyFinding {
        var finding = finding(
            kind, kind == .wrongLengthHere ? "Its local bytes are cut off or too many" : "Its local bytes have changed")
        if case .present(let status, let sha256) = look.here {
            finding.found = .init(byteCount: status.byteCount, sha256: sha256)
        }
        switch look.worthThere {
        case .good:
            finding.repair = .fetch
            finding.message +=
                look.isProvenThere ? "; the storage has the right ones." : "; the storage has an object of its size."
        case .unknown: finding.message += "; the storage \(whyUnknown)."
        default:
            finding.repair = .quarantine
            finding.message += ", and no right ones were found."
        }
        // Of a `remote` file the object's own finding tells the loss, if there is one.
        guard isRemote else { return asLoss(finding) }
        finding.isLoss = look.isKnownLoss && finding.repair == .fetch
        return finding
    }

    private var there: VerifyFinding? {
        // What was seen of a damaged object is told with its note.
        guard isRemote, !isNotedAsDamaged else { return nil }
        if !look.hasUsableKey { return unusableKey }
        let kind: VerifyFinding.Kind
        switch look.worthThere {
        case .missing: kind = .missingThere
        case .wrongLength: kind = .wrongLengthThere
        case .corrupted: kind = .corruptedThere
        case .good, .unknown: return nil
        }
        let isGoodHere = look.worthHere == .good
        // It is being made again already.
        if isGoodHere, look.row.job == .queued { return nil }
        let words: [VerifyFinding.Kind: String] = [
            .missingThere: "The storage does not have its object",
            .wrongLengthThere: "Its object has another size", .corruptedThere: "Its object has other bytes",
        ]
        var finding = finding(kind, words[kind] ?? "")
        if case .present(let object) = look.there {
            finding.found = .init(byteCount: object.byteCount, sha256: object.sha256)
        }
        guard isGoodHere else {
            finding.message += ", and the right bytes are not here."
            return asLoss(finding)
        }
        finding.repair = .upload
        finding.message += "; the right bytes are here."
        return finding
    }

    /// The bytes are where they should be, but the job is not as it should be.
    private var stuck: VerifyFinding? {
        if !isRemote, look.isOurs, !look.hasUsableKey { return unusableKey }
        if isRemote { return noted }
        guard look.worthHere == .good else { return nil }
        var finding = finding(.uploadStuck, "")
        switch look.row.job {
        case .failed where look.row.isNotedAsLost:
            finding.message = "It was noted as lost, but its bytes are here again."
        case .failed: finding.message = "Its upload was given up: \(look.row.errorMessage ?? "for an unknown reason")"
        case nil where look.isOurs: finding.message = "Its upload is not queued."
        case .queued where look.row.notBefore > furthest:
            finding.message = "Its upload is put off too far: was the clock set back?"
        default: return nil
        }
        finding.repair = .upload
        return finding
    }

    private var whyUnknown: String { look.hasUsableKey ? "was not asked" : "takes no such key" }

    private var unusableKey: VerifyFinding {
        finding(.unusableKey, "No storage takes its key '\(look.file.key)': another program has written the row.")
    }

    private var isNotedAsDamaged: Bool { isRemote && look.row.isSuspect && look.row.job == .failed }

    /// A `remote` file from whose object somebody has read other bytes, or none, whatever the storage says of it.
    private var damagedThere: VerifyFinding {
        let kind: VerifyFinding.Kind
        switch look.worthThere {
        case .missing: kind = .missingThere
        case .wrongLength: kind = .wrongLengthThere
        case .corrupted, .good, .unknown: kind = .corruptedThere
        }
        var finding = finding(kind, "Its object was found damaged: \(look.row.errorMessage ?? "for an unknown reason")")
        if case .present(let object) = look.there { finding.found = .init(byteCount: object.byteCount) }
        finding.isKnown = look.row.isNotedAsLost
        if look.worthHere == .good {
            finding.repair = .upload
            finding.message += " The right bytes are here."
        } else {
            // Only reading it again can show that it was the way, and not the object.
            finding.repair = look.worthThere == .good ? .fetch : nil
            finding.isLoss = true
            finding.message += " The right bytes are not here."
        }
        return finding
    }

    /// A `remote` file that was noted, although the storage has an object that may be right.
    private var noted: VerifyFinding? {
        if isNotedAsDamaged { return damagedThere }
        guard look.row.job == .failed, look.worthThere == .good else { return nil }
        var finding = finding(.uploadStuck, "It was noted as lost, but the storage has it.")
        finding.repair = .clear
        if look.isProvenThere { return finding }
        if look.worthHere == .good {
            finding.message = "It was noted as lost, but the right bytes are here."
            finding.repair = .upload
        } else {
            finding.message =
                "It was noted as lost. The storage has an object of its size; only fetching it shows whether it is right."
            finding.repair = .fetch
            (finding.isLoss, finding.isKnown) = (look.isKnownLoss, look.isKnownLoss)
        }
        return finding
    }

    private func asLoss(_ finding: VerifyFinding) -> VerifyFinding {
        var finding = finding
        finding.isLoss = look.worthThere != .unknown && (finding.repair != .fetch || look.isKnownLoss)
        finding.isKnown = look.row.isNotedAsLost && finding.repair != .quarantine
        return finding
    }

    private func finding(_ kind: VerifyFinding.Kind, _ message: String) -> VerifyFinding {
        let file = look.file
        return VerifyFinding(
            kind: kind, fileID: file.id, key: file.key,
            recorded: .init(byteCount: file.byteCount, sha256: file.sha256), message: message)
    }
}
