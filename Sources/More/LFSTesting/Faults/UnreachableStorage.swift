public import LFSStorage
import Synchronization

/// A storage whose network a test switches off and on.
public final class UnreachableStorage: StorageWrapper {
    private struct State {
        var isReachable: Bool
        var refusedCalls = 0
    }

    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
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

    /// Uploads while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off. Errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try requireNetwork(.upload, key: key)
        return try await base.upload(source, to: key, session: session)
    }

    /// Downloads while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off. Errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try requireNetwork(.download, key: request.key)
        return try await base.download(request, into: sink)
    }

    /// Describes the object while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off. Errors of the wrapped storage.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try requireNetwork(.head, key: key)
        return try await base.head(key)
    }

    /// Deletes while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off. Errors of the wrapped storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try requireNetwork(.delete, key: key)
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Lists while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off. Errors of the wrapped storage.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try requireNetwork(.list, key: nil)
        return try await base.list(request)
    }

    private func requireNetwork(_ operation: StorageOperation, key: ObjectKey?) throws(StorageError) {
        guard operations.contains(operation) else { return }
        let isReachable = state.withLock { state in
            if !state.isReachable { state.refusedCalls += 1 }
            return state.isReachable
        }
        guard isReachable else { throw StorageError(.unreachable, message: "The network is switched off.", key: key) }
    }
}
