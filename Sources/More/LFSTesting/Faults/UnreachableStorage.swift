public import LFSStorage
import Synchronization

/// A storage whose network a test switches off and on.
public final class UnreachableStorage: GuardedStorage {
    private struct State {
        var isReachable: Bool
        var refusedCalls = 0
    }

    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    package let operations: Set<StorageOperation>
    private let state: Mutex<State>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the operations that need the network. The others are always forwarded.
    ///   - isReachable: true if the network is on at first.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all,
        isReachable: Bool = false
    ) {
        self.base = base
        self.operations = operations
        self.state = Mutex(State(isReachable: isReachable))
    }

    /// True if the network is on.
    package var isReachable: Bool { state.withLock { $0.isReachable } }

    /// The number of calls that were made while the network was off.
    package var refusedCalls: Int { state.withLock { $0.refusedCalls } }

    /// Switches the network on or off.
    public func setReachable(_ isReachable: Bool) {
        state.withLock { $0.isReachable = isReachable }
    }

    /// Forwards the call while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and errors of the wrapped storage.
    package func admit<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        let isReachable = state.withLock { state in
            if !state.isReachable { state.refusedCalls += 1 }
            return state.isReachable
        }
        guard isReachable else { throw StorageError(.unreachable, message: "The network is switched off.", key: key) }
        return try await call()
    }
}
