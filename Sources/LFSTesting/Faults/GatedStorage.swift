public import LFSStorage
import LFSSystem
import Synchronization

/// A storage whose calls of some kinds wait at a gate that a test opens, so that a test decides what runs beside what.
public final class GatedStorage: StorageWrapper {
    private struct State {
        var isOpen = false
        var arrivals: [ObjectKey?] = []
        var inside = 0
        var maxInside = 0
        /// The calls at the gate. They are answered whether they may pass.
        var waiting: [(key: ObjectKey?, call: Waiter<Bool>)] = []
        var watchers: [(count: Int, watcher: Waiter<Void>)] = []
    }

    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let state = Mutex(State())

    /// Puts the gate before a storage.
    ///
    /// - Parameters:
    ///   - base: the storage behind the gate.
    ///   - operations: which calls wait at the gate; the others pass unseen.
    ///   - isOpen: whether they pass from the beginning, to be counted only.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload], isOpen: Bool = false) {
        self.base = base
        self.operations = operations
        state.withLock { $0.isOpen = isOpen }
    }

    // MARK: What a test sees

    /// The keys of the calls that came so far, in the order they came; each try counts. A listing has no key.
    public var arrivals: [ObjectKey] { state.withLock { $0.arrivals.compactMap(\.self) } }
    /// How many calls came so far; each try counts.
    public var arrivalCount: Int { state.withLock { $0.arrivals.count } }
    /// The keys of the calls that wait now. A listing has no key.
    public var waiting: [ObjectKey] { state.withLock { $0.waiting.compactMap(\.key) } }
    /// The largest number of calls that were under way at one time, waiting ones included.
    public var maxConcurrentCalls: Int { state.withLock { $0.maxInside } }

    /// Returns when this many calls have come, counted from the beginning, or when the task is cancelled.
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

    // MARK: What a test does

    /// Lets all calls pass, those that wait and those to come.
    public func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.call.resume(returning: true) }
    }

    /// Lets calls that come from now on wait.
    public func close() { state.withLock { $0.isOpen = false } }

    /// Lets the call pass that waits with this key, once. Returns whether there was one.
    @discardableResult
    public func pass(_ key: ObjectKey) -> Bool {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.key == key }.map { state.waiting.remove(at: $0) }
        }
        waiter?.call.resume(returning: true)
        return waiter != nil
    }

    // MARK: Calls

    /// Waits at the gate, if uploads do, and passes the call on.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and what the storage below
    ///   throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await passing(.upload, key) { try await base.upload(source, to: key, session: session) }
    }

    /// Waits at the gate, if downloads do, and passes the call on.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and what the storage below
    ///   throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await passing(.download, request.key) { try await base.download(request, into: sink) }
    }

    /// Waits at the gate, if this kind of call does, and passes the call on.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and what the storage below
    ///   throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await passing(.head, key) { try await base.head(key) }
    }

    /// Waits at the gate, if deletes do, and passes the call on.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and what the storage below
    ///   throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await passing(.delete, key) { try await base.delete(key, abandoning: checkpoint) }
    }

    /// Waits at the gate, if listings do, and passes the call on.
    ///
    /// - Throws: `StorageError.Code.cancelled` when the task is cancelled while it waits, and what the storage below
    ///   throws.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await passing(.list, nil) { try await base.list(request) }
    }

    private func passing<Value>(
        _ operation: StorageOperation, _ key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        guard operations.contains(operation) else { return try await call() }
        state.withLock { state in
            state.inside += 1
            state.maxInside = max(state.maxInside, state.inside)
        }
        defer { state.withLock { $0.inside -= 1 } }
        guard await waitAtGate(key) else {
            throw StorageError(.cancelled, "The call was cancelled at the gate.", key: key)
        }
        return try await call()
    }

    /// Returns false when the task was cancelled before it could pass.
    private func waitAtGate(_ key: ObjectKey?) async -> Bool {
        let call = Waiter<Bool>()
        let (answer, watchers) = state.withLock { state in
            // It counts as arrived only when it waits, so that a test can let it pass right away.
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
