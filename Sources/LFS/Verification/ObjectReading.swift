public import LFSSystem

/// What came of reading an object back: see ``LFSManager/readBack(_:)``.
public struct ObjectReading: Hashable, Sendable {
    /// What the object is.
    public enum Outcome: String, Hashable, Sendable {
        /// It has the recorded bytes.
        case right
        /// It has others, or the storage names it and does not give it. That is noted.
        case damaged
        /// The storage has no such object, or no storage takes its key. The next verification tells it.
        case missing
        /// The storage did not give it now, and gave others. That says nothing of the object.
        case unread
    }

    /// The file.
    public let fileID: FileID
    /// What its object is.
    public let outcome: Outcome
    /// How many bytes came.
    public let byteCount: Int64
    /// Why it was not read, a sentence for people; nil when it was.
    public let reason: String?

    /// A reading.
    public init(fileID: FileID, outcome: Outcome, byteCount: Int64, reason: String?) {
        (self.fileID, self.outcome, self.byteCount, self.reason) = (fileID, outcome, byteCount, reason)
    }
}
