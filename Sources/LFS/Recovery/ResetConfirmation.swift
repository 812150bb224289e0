/// What a ``LFSManager/reset(_:alongside:)`` may lose. Whoever resets has to say it.
public struct ResetConfirmation: Hashable, Sendable {
    /// The deletions on the storage that have not been carried out yet.
    public enum PendingDeletions: Hashable, Sendable {
        /// They are carried out by the next manager of this database that runs, and so are those of files that the
        /// reset loses before they were uploaded: what unfinished uploads have left on the storage goes.
        case keep
        /// They are forgotten: those objects, and what unfinished uploads have left, stay on the storage until somebody
        /// finds them.
        case drop
    }

    /// How many files without a proven upload may be lost, at most.
    let notUploaded: Int
    /// What becomes of deletions that have not been carried out yet.
    public var pendingDeletions = PendingDeletions.keep

    /// Nothing may be lost: the reset is refused while a file is not uploaded.
    public static let everythingIsUploaded = ResetConfirmation(notUploaded: 0)

    /// So many files may be lost for good, and not one more: as many as ``LFSManager/filesLostByReset()`` told the one
    /// who confirmed it.
    public static func loseFilesThatAreNotUploaded(_ count: Int) -> ResetConfirmation {
        ResetConfirmation(notUploaded: count)
    }
}
