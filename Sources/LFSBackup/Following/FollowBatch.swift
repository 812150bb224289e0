/// What a backup has to look at.
public struct FollowBatch: Sendable {
    /// A source of these files alone.
    public let source: FolderSource
    /// How many files and folders have settled; nil when all there is has to be walked.
    public let count: Int?
}

/// What a person may want to know of a ``FolderFollower``. More notes may come, so a `switch` needs a `default`.
public enum FollowNote: Hashable, Sendable {
    /// More has happened at once than the system can tell: everything is walked once more.
    case lost
    /// A folder that was named, or the file system that it is on, is not there any more. It is looked for now and then.
    case gone(AssetName)
    /// A path that was named leads to another folder now, since a link was changed or a disk was mounted over it:
    /// everything is walked once more.
    case replaced(AssetName)
    /// A file has been changing for so long that it has not been backed up meanwhile.
    case unsettled(AssetName)
    /// Not all folders can be followed, with the number of those that are and the system's reason: everything is walked
    /// now and then. `isLimit` tells that of a limit which can be set higher, of Linux `fs.inotify.max_user_watches`.
    case limited(folders: Int, reason: String, isLimit: Bool)
}
