public import LFSSystem

/// A deviation from the rows.
public struct VerifyFinding: Hashable, Sendable {
    /// The kind of problem. Later versions may add kinds, so a `switch` needs a `default`.
    public enum Kind: String, Hashable, Codable, Sendable {
        /// This device made a `local` file, and its bytes are not on this device.
        case missingLocally
        /// The number of local bytes differs from the row.
        case wrongLengthLocally
        /// The local bytes have another SHA-256 than the row, or a folder or a link has the name of the file.
        case corruptedLocally
        /// The local bytes cannot be read now, so it is unknown whether they are correct. They stay in their place
        /// until correct ones are on this device.
        case unreadableLocally
        /// The status is `remote`, and the storage does not have the object.
        case missingRemotely
        /// The object has another size than the row.
        case wrongLengthRemotely
        /// The object has another SHA-256 than the row, according to the storage or after reading it.
        case corruptedRemotely
        /// A local file without a row and without a pending deletion. Only ``VerifyOptions/removesUnknown`` removes it.
        case orphanedLocally
        /// An object in this database's namespace without a row and without a pending deletion. Only
        /// ``VerifyOptions/removesUnknown`` removes it.
        case orphanedRemotely
        /// A failed upload, including that of a `remote` file whose object should have been uploaded again, or a
        /// `local` file whose upload is not queued.
        case uploadStuck
        /// A deletion that the storage refuses, or that has failed ten times.
        case deletionStuck
        /// A row has a key that no storage accepts, so the state of its object is unknown. Another program has written
        /// it.
        case unusableKey
        /// A row, or a record of LFS about it, has an invalid value. Another program has written it.
        case unreadableRow
        /// Damaged bytes, or a folder that had the name of a file, that an earlier repair has moved into the folder
        /// `quarantine`.
        case quarantined

        /// True for a problem of local bytes that exist.
        var isOfLocalBytes: Bool { [.wrongLengthLocally, .corruptedLocally, .unreadableLocally].contains(self) }
    }

    /// The repair that is possible without data loss.
    public enum Repair: String, Hashable, Codable, Sendable {
        /// The local bytes are correct. They are uploaded again.
        case upload
        /// The object is correct. It is downloaded. Damaged local bytes are kept in quarantine until it is on this
        /// device.
        case fetch
        /// Damaged bytes that may be the only ones are moved to quarantine, so that they are not read as the file's
        /// content.
        case quarantine
        /// Damaged bytes in quarantine are removed, because the correct ones are in the store again.
        case discard
        /// Correct bytes in quarantine are moved back. They could not be read when they were quarantined.
        case putBack
        /// An orphan is deleted, because the options permit it.
        case remove
        /// A deletion is retried now.
        case retry
        /// The record of a loss that no longer exists is removed.
        case clear
        /// An original (``VerifyOptions/originals``) has the correct bytes. They are copied from it and uploaded.
        case restore
    }

    /// The outcome of a repair.
    public enum Outcome: Hashable, Sendable {
        /// The problem was found and nothing was done.
        case found
        /// The problem is repaired.
        case repaired
        /// An upload or a deletion is queued. The background work carries it out.
        case underWay
        /// The problem cannot be repaired. The loss is recorded, and later runs count it as known.
        case noted
        /// The repair failed. Existing bytes are unchanged.
        case failed(String)
    }

    /// A size and a checksum. Unknown values are nil.
    public struct Content: Hashable, Codable, Sendable {
        /// The size in bytes.
        public var byteCount: Int64?
        /// SHA-256 in lowercase hex.
        public var sha256: String?
    }

    /// The kind of problem.
    public let kind: Kind
    /// The affected file. Nil when the row has no id in the format of LFS.
    public let fileID: FileID?
    /// The object key.
    public let key: String
    /// The content according to the row. Nil when there is no row.
    public internal(set) var recorded: Content?
    /// The content that was found, if any.
    public internal(set) var found: Content?
    /// A sentence for people.
    public internal(set) var message: String
    /// The possible repair, if any.
    public internal(set) var repair: Repair?
    /// True if no correct bytes were found anywhere.
    public internal(set) var isLoss = false
    /// True if an earlier repair has recorded the problem. It is reported and not counted as left, until the row is
    /// deleted.
    public internal(set) var isKnown = false
    /// The outcome of the repair.
    public internal(set) var outcome = Outcome.found
    /// True if correct bytes from elsewhere are wanted, although no loss is known.
    var needsOriginal = false

    /// Stores the outcome of a repair, which may have proven more than the comparison before it.
    mutating func settle(_ outcome: Outcome) {
        self.outcome = outcome
        switch outcome {
        case .noted: isLoss = true
        case .repaired, .underWay: if repair != .quarantine { isLoss = false }
        case .found, .failed: break
        }
    }

    /// True if someone still has to act on the finding.
    public var isLeft: Bool {
        switch outcome {
        case .repaired, .underWay: false
        case .found, .noted, .failed: !isKnown
        }
    }
}

extension VerifyFinding: CustomStringConvertible {
    /// The kind, the file and the sentence.
    public var description: String { "\(kind) \(fileID.map(\.text) ?? "-"): \(message)" }
}
