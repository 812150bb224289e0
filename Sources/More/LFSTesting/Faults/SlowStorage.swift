public import LFSStorage

/// A storage that delays calls by a clock that a test controls.
public struct SlowStorage: GuardedStorage {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    package let operations: Set<StorageOperation>
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

    /// Forwards the call after the delay.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and errors of the wrapped
    ///   storage.
    package func admit<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        do {
            try await clock.sleep(for: delay)
        } catch {
            throw StorageError(
                .cancelled, message: "The call was cancelled while the slow storage waited.", cause: error)
        }
        return try await call()
    }
}
