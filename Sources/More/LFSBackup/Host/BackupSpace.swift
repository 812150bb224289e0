/// A check for disk space. It allows a backup of more data than the disk can hold at once, because uploaded files can
/// be evicted during the backup.
///
/// An original without space is reported as failed, and the backup continues. Without this check, a full disk ends the
/// backup.
public struct BackupSpace: Sendable {
    /// The answer to a request for disk space.
    public enum Answer: Hashable, Sendable {
        /// There is space for this number of originals, at least one.
        case take(Int)
        /// Not even the first one fits, and nothing can be freed. The text says what to do.
        case refuse(String)
    }

    /// The maximum number of attempts for one original when the disk is full despite the answer.
    static let mostTries = 64

    let ask: @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> Answer

    /// Creates a check.
    ///
    /// - Parameter ask: called before originals are read, with their sizes, or 0 for unknown sizes. It may wait until
    ///   there is space. If `wasRefused` is true, the disk was full despite the last answer, so space must be freed
    ///   before the next attempt. A single size of 0 may also mean rows without bytes.
    public init(_ ask: @escaping @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> Answer) {
        self.ask = ask
    }
}
