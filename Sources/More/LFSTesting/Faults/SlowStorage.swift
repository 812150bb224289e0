public import LFSStorage

/// A storage that delays calls by a clock that a test controls.
public struct SlowStorage: StorageWrapper {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let delay: Duration
    private let clock: any Clock<Duration>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the operations that are delayed.
    ///   - delay: the delay of each call.
    ///   - clock: the clock that measures the delay.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, delay: Duration,
        clock: any Clock<Duration>
    ) {
        self.base = base
        self.operations = operations
        self.delay = delay
        self.clock = clock
    }

    /// Uploads after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits. Errors of the wrapped
    ///   storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await wait(.upload)
        return try await base.upload(source, to: key, session: session)
    }

    /// Downloads after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits. Errors of the wrapped
    ///   storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await wait(.download)
        return try await base.download(request, into: sink)
    }

    /// Describes the object after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits. Errors of the wrapped
    ///   storage.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await wait(.head)
        return try await base.head(key)
    }

    /// Deletes after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits. Errors of the wrapped
    ///   storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await wait(.delete)
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Lists after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits. Errors of the wrapped
    ///   storage.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await wait(.list)
        return try await base.list(request)
    }

    private func wait(_ operation: StorageOperation) async throws(StorageError) {
        guard operations.contains(operation) else { return }
        do {
            try await clock.sleep(for: delay)
        } catch {
            throw StorageError(
                .cancelled, message: "The call was cancelled while the slow storage waited.", cause: error)
        }
    }
}
