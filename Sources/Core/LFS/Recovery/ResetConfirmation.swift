/// The losses that a ``LFSManager/reset(_:alongside:)`` may cause. Every reset requires one.
public struct ResetConfirmation: Hashable, Sendable {
    /// The treatment of deletions on the storage that have not been carried out yet.
    public enum PendingDeletions: Hashable, Sendable {
        /// The next running manager of this database carries them out. It also removes what unfinished uploads of the
        /// lost files have left on the storage.
        case keep
        /// They are discarded. The objects and the remains of unfinished uploads stay on the storage until they are
        /// found.
        case drop
    }

    /// The maximum number of files without a proven upload that may be lost.
    let notUploaded: Int
    /// The treatment of deletions that have not been carried out yet. The default is `keep`.
    public var pendingDeletions = PendingDeletions.keep

    /// No file may be lost. The reset fails while a file is not uploaded.
    public static let everythingIsUploaded = ResetConfirmation(notUploaded: 0)

    /// At most `count` files may be lost for good. Pass the number from ``LFSManager/filesLostByReset()`` that the user
    /// confirmed.
    public static func loseFilesThatAreNotUploaded(_ count: Int) -> ResetConfirmation {
        ResetConfirmation(notUploaded: count)
    }
}
