public import LFS

/// Where originals are: folders (``FolderSource``), or a photo library.
///
/// - A walk meets each original once, and tells of each that it could not look at. What is in no included group, or in
///   an excluded one, may be left out.
/// - Ids stay the same from one walk to the next, also when names of other originals change.
/// - ``open(_:)`` gives the bytes that are there now with the stamp that they have now, which may be another one than
///   that of the walk.
/// - Both may block. They are called on threads that are there for that.
public protocol AssetSource: Sendable {
    /// One walk through all originals.
    associatedtype Walk: IteratorProtocol<AssetItem> & Sendable

    /// Begins a walk.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent`` when what is to be left out cannot be told.
    func makeWalk() throws -> Walk

    /// Opens an original that a walk has met.
    ///
    /// - Throws: ``BackupError/Code/unreadable``.
    func open(_ asset: Asset) throws -> OpenedAsset
}

/// The bytes of an original.
public struct OpenedAsset: Sendable {
    let source: FileSource
    let stamp: AssetStamp
    let currentStamp: @Sendable () -> AssetStamp?

    /// The bytes of an original.
    ///
    /// - Parameters:
    ///   - source: the bytes, which are read once.
    ///   - stamp: how the original looks right before it is read.
    ///   - currentStamp: how it looks after it was read; nil when it is gone. Another one means that it has changed
    ///     meanwhile.
    public init(
        _ source: FileSource, stamp: AssetStamp, currentStamp: @escaping @Sendable () -> AssetStamp?
    ) {
        (self.source, self.stamp, self.currentStamp) = (source, stamp, currentStamp)
    }
}
