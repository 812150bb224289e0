public import LFS

/// An event of a running backup. Within a batch, events follow the order of the walk.
public enum BackupEvent: Sendable {
    /// This number of additional bytes was read.
    case read(Int64)
    /// The original is new or has changed, and will be read.
    case found(Asset)
    /// The original is backed up and has not changed.
    case unchanged(Asset)
    /// The original has the content that is backed up, but its time or its permissions have changed.
    case touched(Asset)
    /// The original or its record was deleted on purpose.
    case declined(Asset)
    /// The original has a file now. If `isShared` is true, another original has the same file.
    case attached(Asset, FileData, isShared: Bool)
    /// The bytes of the file were lost or damaged, locally or on the storage, and are uploaded again from the original.
    case restored(Asset, FileData)
    /// The item is skipped on purpose, with the reason.
    case passedOver(AssetName, String)
    /// The item should be backed up but cannot be read, with the reason.
    case unreadable(AssetName, String)
    /// The original could be read, but was not attached, with the reason.
    case failed(AssetName, String)
    /// An unused copy remains until the database is opened again, with the reason.
    case left(AssetName, String)
}

/// The totals of a backup.
public struct BackupReport: Hashable, Sendable {
    /// The number of originals that have a new file now.
    public var attached = 0
    /// The number of these whose bytes were already stored.
    public var shared = 0
    /// The number of originals whose lost or damaged bytes are uploaded again.
    public var restored = 0
    /// The number of originals with unchanged content.
    public var unchanged = 0
    /// The number of these whose time or permissions have changed.
    public var touched = 0
    /// The number of originals that were deleted on purpose.
    public var declined = 0
    /// The number of originals that could not be read or attached.
    public var failed = 0

    /// Creates a report without originals.
    package init() {}

    mutating func add(_ event: BackupEvent) {
        switch event {
        case .attached(_, _, let isShared):
            attached += 1
            shared += isShared ? 1 : 0
        case .restored: restored += 1
        case .unchanged: unchanged += 1
        case .touched:
            unchanged += 1
            touched += 1
        case .declined: declined += 1
        case .unreadable, .failed: failed += 1
        case .read, .found, .passedOver, .left: break
        }
    }
}
