/// A set of files for the next backup.
public struct FollowBatch: Sendable {
    /// A source of only these files.
    public let source: FolderSource
    /// The number of files and folders that have settled. Nil for a full walk.
    package let count: Int?
}

/// A message of a ``FolderFollower`` for people. More cases may come, so a `switch` needs a `default`.
public enum FollowNote: Hashable, Sendable {
    /// The system's queue overflowed. The follower walks all folders again.
    case lost
    /// A selected folder, or its file system, no longer exists. The follower looks for it periodically.
    case gone(AssetName)
    /// A selected path leads to another folder now, because a link was changed or a disk was mounted over it. The
    /// follower walks all folders again.
    case replaced(AssetName)
    /// A file has been changing for so long that it could not be backed up yet.
    case unsettled(AssetName)
    /// Some folders cannot be watched, with the number of watched ones and the system's reason. The follower walks all
    /// folders periodically. If `isLimit` is true, a limit can be raised: `fs.inotify.max_user_watches` on Linux.
    case limited(folders: Int, reason: String, isLimit: Bool)
}
