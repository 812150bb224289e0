/// Says how many originals the disk has room for, so that a backup goes through a disk that is smaller than all of
/// them: what is uploaded meanwhile can be evicted.
///
/// An original that gets no room is told as failed, and the others go on. Without it a full disk ends the backup.
public struct BackupRoom: Sendable {
    /// What there is room for.
    public enum Answer: Hashable, Sendable {
        /// So many of the originals, at least one.
        case take(Int)
        /// Not even the first one, and nothing is left that could be freed for it. The words say what to do.
        case refuse(String)
    }

    /// How often a single original is tried for which the disk has no room although it was said to have.
    static let mostTries = 64

    let ask: @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> Answer

    /// A closure that knows the disk.
    ///
    /// - Parameter ask: called before originals are read, with their sizes, 0 for one that is not known. It may wait
    ///   until there is room. `wasRefused` says that the disk was full all the same: then something has to be freed
    ///   before as much is tried again. One size of 0 may also stand for rows alone.
    public init(_ ask: @escaping @Sendable (_ sizes: [Int64], _ wasRefused: Bool) async throws -> Answer) {
        self.ask = ask
    }
}
