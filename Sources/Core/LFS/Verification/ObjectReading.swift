public import LFSSystem

/// The result of reading an object back. See ``LFSManager/readBack(_:)``.
public struct ObjectReading: Hashable, Sendable {
    /// The state of the object.
    public enum Outcome: String, Hashable, Sendable {
        /// The object has the recorded bytes.
        case right
        /// The object has other bytes, or the storage lists it and does not return it. The damage is recorded.
        case damaged
        /// The storage has no such object, or accepts no such key. The next verification reports it.
        case missing
        /// The storage did not return this object now, but returned others. Its state is unknown.
        case unread
    }

    /// The file.
    public let fileID: FileID
    /// The state of its object.
    public let outcome: Outcome
    /// The number of bytes received.
    public let byteCount: Int64
    /// The reason why the object was not read, as a sentence for people. Nil when it was read.
    public let reason: String?

    /// Creates the result of a reading.
    public init(fileID: FileID, outcome: Outcome, byteCount: Int64, reason: String?) {
        self.fileID = fileID
        self.outcome = outcome
        self.byteCount = byteCount
        self.reason = reason
    }
}
