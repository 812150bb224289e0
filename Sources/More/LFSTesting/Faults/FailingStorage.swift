public import LFSStorage
import Synchronization

/// A storage whose first calls of some operations fail. Later calls are forwarded to the wrapped storage.
public final class FailingStorage: GuardedStorage {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let error: StorageError
    package let operations: Set<StorageOperation>
    private let left: Mutex<Int>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the operations that fail.
    ///   - times: the number of calls that fail, for all operations together.
    ///   - error: the error that they throw.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all, times: Int = 1,
        with error: StorageError
    ) {
        self.base = base
        self.error = error
        self.operations = operations
        self.left = Mutex(times)
    }

    /// The number of calls that will still fail.
    public var failuresLeft: Int { left.withLock { $0 } }

    /// Throws the error while failures are due.
    package func admit<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        let isDue = left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
        if isDue { throw error }
        return try await call()
    }
}
