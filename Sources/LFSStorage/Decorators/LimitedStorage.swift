import Synchronization

/// Lets at most a number of calls reach a storage at once; the others wait in the order they came.
///
/// Owner of its state: the mutex, which is never held across a call.
public final class LimitedStorage<Base: RemoteStorage>: RemoteStorage {
    private struct State {
        var free: Int
        var nextTicket: UInt64 = 0
        var waiting: [(ticket: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let base: Base
    private let state: Mutex<State>

    /// - Parameter concurrentCalls: at least 1; less counts as 1.
    public init(_ base: Base, concurrentCalls: Int) {
        self.base = base
        self.state = Mutex(State(free: max(concurrentCalls, 1)))
    }

    /// Those of the storage below.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on when its turn comes.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await limited { try await base.upload(source, to: key, session: session) }
    }

    /// Passes the call on when its turn comes.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await limited { try await base.download(request, into: sink) }
    }

    /// Passes the call on when its turn comes.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await limited { try await base.head(key) }
    }

    /// Passes the call on when its turn comes.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await limited { try await base.delete(key, abandoning: checkpoint) }
    }

    /// Passes the call on when its turn comes.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await limited { try await base.list(request) }
    }

    private func limited<Result>(_ call: () async throws -> Result) async throws -> Result {
        guard await enter() else {
            throw StorageError(.cancelled, "The call was cancelled while it waited for its turn.")
        }
        defer { leave() }
        return try await call()
    }

    /// Waits for a turn. Returns false when the task was cancelled first; there is nothing to give back then.
    private func enter() async -> Bool {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting.append((ticket, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.ticket == ticket }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    private func leave() {
        let next = state.withLock { state in
            if state.waiting.isEmpty {
                state.free += 1
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
