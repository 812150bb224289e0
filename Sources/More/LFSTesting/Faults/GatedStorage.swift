public import LFSStorage
import LFSSystem
import Synchronization

/// A storage whose calls wait at a gate that a test opens. This lets a test control which calls run concurrently.
public final class GatedStorage: GuardedStorage {
    private struct State {
        var isOpen = false
        var arrivals: [ObjectKey?] = []
        var inside = 0
        var maxInside = 0
        /// The calls at the gate. Each one is resumed with true if it may pass.
        var waiting: [(key: ObjectKey?, call: Waiter<Bool>)] = []
        var watchers: [(count: Int, watcher: Waiter<Void>)] = []
    }

    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    package let operations: Set<StorageOperation>
    private let state = Mutex(State())

    /// Wraps a storage with a gate.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the operations that wait at the gate. The others pass and are not counted.
    ///   - isOpen: true if the gate is open at first, so that calls are only counted.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload], isOpen: Bool = false) {
        self.base = base
        self.operations = operations
        state.withLock { $0.isOpen = isOpen }
    }

    // MARK: Observation

    /// The keys of the calls so far, in order. Retries are included. A listing has no key.
    package var arrivals: [ObjectKey] { state.withLock { $0.arrivals.compactMap(\.self) } }
    /// The number of calls so far. Retries are included.
    package var arrivalCount: Int { state.withLock { $0.arrivals.count } }
    /// The keys of the calls that wait now. A listing has no key.
    package var waiting: [ObjectKey] { state.withLock { $0.waiting.compactMap(\.key) } }
    /// The maximum number of concurrent calls, including waiting ones.
    package var maxConcurrentCalls: Int { state.withLock { $0.maxInside } }

    /// Returns when this number of calls has arrived since the creation of the storage, or when the task is cancelled.
    public func waitForArrivals(_ count: Int) async {
        let watcher = Waiter<Void>()
        let hasToWait = state.withLock { state in
            guard state.arrivals.count < count else { return false }
            state.watchers.append((count, watcher))
            return true
        }
        guard hasToWait else { return }
        await watcher.wait {
            state.withLock { state in state.watchers.removeAll { $0.watcher === watcher } }
            watcher.resume(returning: ())
        }
    }

    // MARK: Control

    /// Opens the gate for waiting calls and for later ones.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.call.resume(returning: true) }
    }

    /// Closes the gate for later calls.
    package func close() { state.withLock { $0.isOpen = false } }

    /// Lets one waiting call with this key pass. Returns true if there was one.
    @discardableResult
    public func pass(_ key: ObjectKey) -> Bool {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.key == key }.map { state.waiting.remove(at: $0) }
        }
        waiter?.call.resume(returning: true)
        return waiter != nil
    }

    // MARK: Calls

    /// Waits at the gate, and then forwards the call.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and errors of the wrapped
    ///   storage.
    package func admit<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        state.withLock { state in
            state.inside += 1
            state.maxInside = max(state.maxInside, state.inside)
        }
        defer { state.withLock { $0.inside -= 1 } }
        guard await waitAtGate(key) else {
            throw StorageError(.cancelled, message: "The call was cancelled at the gate.", key: key)
        }
        return try await call()
    }

    /// Returns false if the task was cancelled before the call could pass.
    private func waitAtGate(_ key: ObjectKey?) async -> Bool {
        let call = Waiter<Bool>()
        let (answer, watchers) = state.withLock { state in
            // The call is counted in the same step in which it starts to wait, so a test can let it pass right away.
            state.arrivals.append(key)
            let answer: Bool? = Task.isCancelled ? false : state.isOpen ? true : nil
            if answer == nil { state.waiting.append((key, call)) }
            return (answer, Self.takeWatchers(&state))
        }
        for watcher in watchers { watcher.resume(returning: ()) }
        if let answer { return answer }
        return await call.wait {
            let isLeft = state.withLock { state in
                state.waiting.firstIndex { $0.call === call }.map { state.waiting.remove(at: $0) } != nil
            }
            if isLeft { call.resume(returning: false) }
        }
    }

    private static func takeWatchers(_ state: inout State) -> [Waiter<Void>] {
        let count = state.arrivals.count
        let ready = state.watchers.filter { $0.count <= count }
        state.watchers.removeAll { $0.count <= count }
        return ready.map(\.watcher)
    }
}
