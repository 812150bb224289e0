public import LFS

/// A source of originals, such as folders (``FolderSource``) or a photo library (`PhotoSource`).
///
/// - A walk returns each original once, and each one that it could not examine. It may omit originals that are in no
///   included group, or in an excluded one.
/// - Identifiers stay the same from one walk to the next, even when other originals are renamed.
/// - ``open(_:)-(Asset)`` returns the current bytes with their current stamp, which may differ from the stamp of the
///   walk.
/// - All methods may block. They are called on threads for blocking calls.
public protocol AssetSource: Sendable {
    /// The iterator of one walk through all originals.
    associatedtype Walk: IteratorProtocol<AssetItem> & Sendable

    /// Starts a walk.
    ///
    /// - Throws: ``BackupError/Code/groupAbsent`` when the source cannot determine which originals are excluded, and
    ///   ``BackupError/Code/unreadable`` when it cannot be read at all.
    func makeWalk() throws -> Walk

    /// Opens an original that a walk has returned.
    ///
    /// - Throws: ``BackupError/Code/unreadable``.
    func open(_ asset: Asset) throws -> OpenedAsset

    /// Opens several originals, and returns the results in the same order. The default opens one after the other. A
    /// source whose originals share a folder or a connection can open that once.
    func open(_ assets: [Asset]) -> [Result<OpenedAsset, any Error>]
}

extension AssetSource {
    /// Opens one original after the other.
    public func open(_ assets: [Asset]) -> [Result<OpenedAsset, any Error>] {
        assets.map { asset in Result { try open(asset) } }
    }
}

/// The bytes of an original.
public struct OpenedAsset: Sendable {
    let source: FileSource
    /// The same bytes without a copy. Nil if they have no place of their own, or another program may write to them.
    var original: FileSource?
    let stamp: AssetVersion
    let currentStamp: @Sendable () -> AssetVersion?

    /// Creates an opened original.
    ///
    /// - Parameters:
    ///   - source: the bytes, which are read once.
    ///   - stamp: the stamp right before the read.
    ///   - currentStamp: returns the stamp after the read, or nil if the original no longer exists. A different stamp
    ///     means that the original changed during the read.
    public init(
        _ source: FileSource, stamp: AssetVersion, currentStamp: @escaping @Sendable () -> AssetVersion?
    ) {
        self.source = source
        self.stamp = stamp
        self.currentStamp = currentStamp
    }
}
