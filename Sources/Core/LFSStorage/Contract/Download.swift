/// A request for an object, for a range of its bytes, or for a version of it that was seen before.
public struct DownloadRequest: Hashable, Sendable {
    /// The key of the object.
    public var key: ObjectKey
    /// The bytes to download, counted from 0, or nil for all. The range may end beyond the object.
    public var range: Range<Int64>?
    /// The entity tag that the object must still have.
    public var entityTag: String?

    /// Creates a request for an object.
    public init(_ key: ObjectKey, range: Range<Int64>? = nil, entityTag: String? = nil) {
        self.key = key
        self.range = range
        self.entityTag = entityTag
    }
}

/// A receiver of the bytes of one download, in order.
///
/// A storage calls it from one task at a time, and may call it from a thread that blocks on the disk.
public final class DownloadSink: Sendable {
    private let onBegin: @Sendable (String) -> Void
    private let body: @Sendable (UnsafeRawBufferPointer) throws -> Void
    /// True if the closure may block, so that it must be called on a thread that may wait.
    package let mayBlock: Bool

    /// Creates a sink that passes the bytes to a closure.
    ///
    /// - Parameters:
    ///   - onBegin: receives the entity tag of the object whose bytes follow. It must not block.
    ///   - body: receives the next bytes, which are valid until it returns. An error that it throws ends the download,
    ///     which throws the same error.
    public convenience init(
        onBegin: @escaping @Sendable (_ entityTag: String) -> Void = { _ in },
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) {
        self.init(mayBlock: true, onBegin: onBegin, body)
    }

    /// Creates a sink like the initializer above, also for a closure that never blocks.
    package init(
        mayBlock: Bool, onBegin: @escaping @Sendable (_ entityTag: String) -> Void,
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) {
        self.mayBlock = mayBlock
        self.onBegin = onBegin
        self.body = body
    }

    /// Receives the version of the object that the bytes belong to. A storage with entity tags calls this before the
    /// first byte. Without a tag, an interrupted download starts over.
    public func begin(entityTag: String) { onBegin(entityTag) }

    /// Receives the next bytes.
    ///
    /// - Throws: the error of the sink's closure, which ends the download. The storage must rethrow it unchanged rather
    ///   than wrapped in a ``StorageError``, because the storage is not the cause.
    public func write(_ bytes: UnsafeRawBufferPointer) throws { try body(bytes) }
}
