public import LFSStorage
import Synchronization

/// A storage whose first calls of some operations fail. Later calls are forwarded to the wrapped storage.
public final class FailingStorage: StorageWrapper {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let error: StorageError
    private let operations: Set<StorageOperation>
    private let left: Mutex<Int>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the operations that fail.
    ///   - times: the number of calls that fail, for all operations together.
    ///   - error: the error that they throw.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, times: Int,
        with error: StorageError
    ) {
        self.base = base
        self.error = error
        self.operations = operations
        self.left = Mutex(times)
    }

    /// Returns a storage on which the first call of one of the operations fails.
    public static func once(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, with error: StorageError
    ) -> FailingStorage {
        FailingStorage(base, on: operations, times: 1, with: error)
    }

    /// The number of calls that will still fail.
    public var failuresLeft: Int { left.withLock { $0 } }

    /// Fails if a failure is due, before anything is uploaded.
    ///
    /// - Throws: the configured error. Errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try failIfDue(.upload)
        return try await base.upload(source, to: key, session: session)
    }

    /// Fails if a failure is due, before any byte is downloaded.
    ///
    /// - Throws: the configured error. Errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try failIfDue(.download)
        return try await base.download(request, into: sink)
    }

    /// Fails if a failure is due, before the call reaches the wrapped storage.
    ///
    /// - Throws: the configured error. Errors of the wrapped storage.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try failIfDue(.head)
        return try await base.head(key)
    }

    /// Fails if a failure is due, before anything is deleted.
    ///
    /// - Throws: the configured error. Errors of the wrapped storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try failIfDue(.delete)
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Fails if a failure is due, before anything is listed.
    ///
    /// - Throws: the configured error. Errors of the wrapped storage.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try failIfDue(.list)
        return try await base.list(request)
    }

    private func failIfDue(_ operation: StorageOperation) throws(StorageError) {
        guard operations.contains(operation) else { return }
        let isDue = left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
        if isDue { throw error }
    }
}
