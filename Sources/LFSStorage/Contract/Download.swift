/// What to fetch: an object, or a range of its bytes, or only if it is still the one that was seen before.
public struct DownloadRequest: Hashable, Sendable {
    /// The key of the object.
    public var key: ObjectKey
    /// The bytes to fetch, counted from 0; nil for all. It may end beyond the object.
    public var range: Range<Int64>?
    /// The entity tag that the object must still have.
    public var entityTag: String?

    /// A request for an object.
    public init(_ key: ObjectKey, range: Range<Int64>? = nil, entityTag: String? = nil) {
        self.key = key
        self.range = range
        self.entityTag = entityTag
    }
}

/// Takes the bytes of one download, in order.
///
/// A storage calls it from one task at a time, and may call it from a thread that blocks on the disk.
public final class DownloadSink: Sendable {
    private let onBegin: @Sendable (String) -> Void
    private let body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    /// Whether the closure may block the thread, so that it needs one that may wait.
    package let mayBlock: Bool

    /// A sink that hands the bytes to a closure.
    ///
    /// - Parameters:
    ///   - onBegin: takes the entity tag of the object whose bytes follow. It must not block.
    ///   - body: takes the next bytes, which are valid until it returns. What it throws ends the download, and comes
    ///     out of it as it was thrown.
    public convenience init(
        onBegin: @escaping @Sendable (_ entityTag: String) -> Void = { _ in },
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) {
        self.init(mayBlock: true, onBegin: onBegin, body)
    }

    /// As the one above, also for a closure that never blocks the thread.
    package init(
        mayBlock: Bool, onBegin: @escaping @Sendable (_ entityTag: String) -> Void,
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) {
        self.mayBlock = mayBlock
        self.onBegin = onBegin
        self.body = body
    }

    /// Tells which version of the object the bytes are of. A storage that has entity tags calls it before the first
    /// byte; without it an interrupted download starts over.
    public func begin(entityTag: String) { onBegin(entityTag) }

    /// Takes the next bytes.
    ///
    /// - Throws: what the sink's closure throws. It ends the download, and has to come out of it unchanged: a storage
    ///   does not wrap it in a ``StorageError``, because the fault is not the storage's.
    public func write(_ bytes: UnsafeRawBufferPointer) throws { try body(bytes) }
}
