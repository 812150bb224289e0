public import LFSSystem

/// One thing that is not as the rows say.
public struct VerifyFinding: Hashable, Sendable {
    /// What is wrong. More kinds may come, so a `switch` needs a `default`.
    public struct Kind: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// The kind as text.
        public let rawValue: String
        /// A kind from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The kind's text.
        public var description: String { rawValue }

        /// Whether it tells of local bytes that are here and not as they should be.
        var isOfLocalBytes: Bool { [.wrongLengthLocally, .corruptedLocally, .unreadableLocally].contains(self) }

        /// A `local` file was made here, and its bytes are not on this device.
        public static let missingLocally = Kind(rawValue: "missingLocally")
        /// The local bytes are more or fewer than recorded.
        public static let wrongLengthLocally = Kind(rawValue: "wrongLengthLocally")
        /// The local bytes have another SHA-256 than recorded, or a folder or a link stands in their place.
        public static let corruptedLocally = Kind(rawValue: "corruptedLocally")
        /// The local bytes cannot be read now, so nobody knows whether they are right. They stay where they are until
        /// right ones are here.
        public static let unreadableLocally = Kind(rawValue: "unreadableLocally")
        /// A file is `remote`, and the storage does not have its object.
        public static let missingRemotely = Kind(rawValue: "missingRemotely")
        /// The object has another size than recorded.
        public static let wrongLengthRemotely = Kind(rawValue: "wrongLengthRemotely")
        /// The object is not the recorded bytes: its SHA-256, by the storage or by reading it, is another one.
        public static let corruptedRemotely = Kind(rawValue: "corruptedRemotely")
        /// A local file that no row has and no deletion waits for. ``VerifyOptions/removesUnknown`` alone removes it.
        public static let orphanedLocally = Kind(rawValue: "orphanedLocally")
        /// An object in this database's namespace that no row has and no deletion waits for.
        /// ``VerifyOptions/removesUnknown`` alone removes it.
        public static let orphanedRemotely = Kind(rawValue: "orphanedRemotely")
        /// An upload that was given up, of a `remote` file as well whose object was to be made again; or a `local` file
        /// that is not queued.
        public static let uploadStuck = Kind(rawValue: "uploadStuck")
        /// A deletion that the storage refuses, or has failed to do ten times.
        public static let deletionStuck = Kind(rawValue: "deletionStuck")
        /// A row has a key that no storage takes, so nothing can be said of its object; another program has written it.
        public static let unusableKey = Kind(rawValue: "unusableKey")
        /// A row, or what LFS notes of it, has a value that cannot be right; another program has written it.
        public static let unreadableRow = Kind(rawValue: "unreadableRow")
        /// Damaged bytes, or a folder that stood in a file's place, that an earlier repair has put into the folder
        /// `quarantine`.
        public static let quarantined = Kind(rawValue: "quarantined")
    }

    /// How it can be mended without losing anything.
    public enum Repair: String, Hashable, Codable, Sendable {
        /// The local bytes are right: they are uploaded again.
        case upload
        /// The object is right: it is fetched. Damaged local bytes are kept aside until it is here.
        case fetch
        /// Damaged bytes that may be all that is left are moved aside, so that nobody takes them for the file's.
        case quarantine
        /// Damaged bytes in quarantine are removed: the right ones are in the store again.
        case discard
        /// Right bytes in quarantine are put back into their place: they could not be read when they came there.
        case putBack
        /// An orphan is deleted, because a person has asked for it.
        case remove
        /// A deletion is tried again now.
        case retry
        /// The note of a loss that is none any more is removed.
        case clear
        /// An original (``VerifyOptions/originals``) has the right bytes: they are taken from there and uploaded.
        case restore
    }

    /// What came of it.
    public enum Outcome: Hashable, Sendable {
        /// It was found, and nothing was done.
        case found
        /// It is mended.
        case repaired
        /// The background work does the rest: an upload or a deletion is queued.
        case underWay
        /// It cannot be mended. The loss is noted, and later runs count it as known.
        case noted
        /// The repair failed; what was there is still there.
        case failed(String)
    }

    /// A size and a checksum, as far as they are known.
    public struct Content: Hashable, Codable, Sendable {
        /// The size in bytes.
        public var byteCount: Int64?
        /// SHA-256 in lowercase hex.
        public var sha256: String?
    }

    /// What is wrong.
    public let kind: Kind
    /// The file that it is about; nil where a row has no id that LFS makes.
    public let fileID: FileID?
    /// The object key.
    public let key: String
    /// What the row says; nil where there is no row.
    public internal(set) var recorded: Content?
    /// What was found; nil where nothing is.
    public internal(set) var found: Content?
    /// A sentence for people.
    public internal(set) var message: String
    /// How it can be mended; nil when it cannot.
    public internal(set) var repair: Repair?
    /// No right bytes were found anywhere this device can see.
    public internal(set) var isLoss = false
    /// An earlier repair has noted it: it is told and not counted as left. Deleting the row ends it.
    public internal(set) var isKnown = false
    /// What came of it.
    public internal(set) var outcome = Outcome.found
    /// It is no loss as far as is known, and right bytes are wanted from elsewhere all the same.
    var needsOriginal = false

    /// Takes what came of a repair, which may have proven more than the comparison before it.
    mutating func settle(_ outcome: Outcome) {
        self.outcome = outcome
        switch outcome {
        case .noted: isLoss = true
        case .repaired, .underWay: if repair != .quarantine { isLoss = false }
        case .found, .failed: break
        }
    }

    /// Whether somebody still has to do something about it.
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
