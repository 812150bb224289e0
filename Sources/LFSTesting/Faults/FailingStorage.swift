public import LFSStorage
import Synchronization

/// A storage whose first calls of some kinds fail, and whose later ones go on to the storage below.
public final class FailingStorage: StorageWrapper {
    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let error: StorageError
    private let operations: Set<StorageOperation>
    private let left: Mutex<Int>

    /// Puts the fault before a sound storage.
    ///
    /// - Parameters:
    ///   - base: the sound storage.
    ///   - operations: the calls that fail.
    ///   - times: how many of them fail, all kinds together.
    ///   - error: what they throw.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, times: Int,
        with error: StorageError
    ) {
        self.base = base
        self.error = error
        self.operations = operations
        self.left = Mutex(times)
    }

    /// A storage of whose calls, as far as they are among the operations, the first one fails.
    public static func once(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, with error: StorageError
    ) -> FailingStorage {
        FailingStorage(base, on: operations, times: 1, with: error)
    }

    /// How many calls are still to fail.
    public var failuresLeft: Int { left.withLock { $0 } }

    /// Fails when that is due, before anything is uploaded.
    ///
    /// - Throws: the error that it was given, and what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try failIfDue(.upload)
        return try await base.upload(source, to: key, session: session)
    }

    /// Fails when that is due, before any byte comes.
    ///
    /// - Throws: the error that it was given, and what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try failIfDue(.download)
        return try await base.download(request, into: sink)
    }

    /// Fails when that is due, before the storage below is asked.
    ///
    /// - Throws: the error that it was given, and what the storage below throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try failIfDue(.head)
        return try await base.head(key)
    }

    /// Fails when that is due, before anything is deleted.
    ///
    /// - Throws: the error that it was given, and what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try failIfDue(.delete)
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Fails when that is due, before anything is listed.
    ///
    /// - Throws: the error that it was given, and what the storage below throws.
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
