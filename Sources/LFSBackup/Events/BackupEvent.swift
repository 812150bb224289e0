public import LFS

/// What a backup tells while it goes on, in the order of the walk within a batch.
public enum BackupEvent: Sendable {
    /// So many bytes more were read.
    case read(Int64)
    /// It is new or has changed, and will be read.
    case found(Asset)
    /// It is backed up, and looks as it did then.
    case unchanged(Asset)
    /// It has the content that is backed up, and looks otherwise than it did: its time or its permissions are others.
    case touched(Asset)
    /// It, or its record, was deleted on purpose.
    case declined(Asset)
    /// It has a file now, one that another original has as well where `isShared` says so.
    case attached(Asset, FileData, isShared: Bool)
    /// Its bytes were lost or damaged, here or on the storage, and are sent again from the original.
    case restored(Asset, FileData)
    /// It is left alone on purpose, with the reason.
    case passedOver(AssetName, String)
    /// It should be backed up and cannot be read, with the reason.
    case unreadable(AssetName, String)
    /// It could be read, and was not taken, with the reason.
    case failed(AssetName, String)
    /// A copy that nobody needs stays until the database is opened another time, with the reason.
    case left(AssetName, String)
}

/// The figures of a backup.
public struct BackupReport: Hashable, Sendable {
    /// Originals that have a new file now.
    public var attached = 0
    /// Those of them whose bytes were there already.
    public var shared = 0
    /// Originals whose lost or damaged bytes are sent again.
    public var restored = 0
    /// Originals that have the content that they had.
    public var unchanged = 0
    /// Those of them that look otherwise than they did.
    public var touched = 0
    /// Originals that were deleted on purpose.
    public var declined = 0
    /// Originals that could not be read, or were not taken.
    public var failed = 0

    /// No original.
    public init() {}

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
