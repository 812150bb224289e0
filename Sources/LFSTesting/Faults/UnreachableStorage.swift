public import LFSStorage
import Synchronization

/// A storage behind a network that a test switches off and on.
public final class UnreachableStorage: StorageWrapper {
    private struct State {
        var isReachable: Bool
        var refusedCalls = 0
    }

    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let state: Mutex<State>

    /// Puts the fault before a sound storage.
    ///
    /// - Parameters:
    ///   - base: the sound storage.
    ///   - operations: the calls that need the network; the others always get through.
    ///   - isReachable: whether the network is on at the beginning.
    public init(
        _ base: any RemoteStorage, on operations: Set<StorageOperation> = StorageOperation.all,
        isReachable: Bool = false
    ) {
        self.base = base
        self.operations = operations
        self.state = Mutex(State(isReachable: isReachable))
    }

    /// Whether calls get through now.
    public var isReachable: Bool { state.withLock { $0.isReachable } }

    /// How many calls came while the network was off.
    public var refusedCalls: Int { state.withLock { $0.refusedCalls } }

    /// Cuts the storage off, or brings it back.
    public func setReachable(_ isReachable: Bool) {
        state.withLock { $0.isReachable = isReachable }
    }

    /// Uploads while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try requireNetwork(.upload, key)
        return try await base.upload(source, to: key, session: session)
    }

    /// Downloads while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try requireNetwork(.download, request.key)
        return try await base.download(request, into: sink)
    }

    /// Describes the object while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and what the storage below throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try requireNetwork(.head, key)
        return try await base.head(key)
    }

    /// Deletes while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try requireNetwork(.delete, key)
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Lists while the network is on.
    ///
    /// - Throws: `StorageError.Code.unreachable` while the network is off, and what the storage below throws.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try requireNetwork(.list, nil)
        return try await base.list(request)
    }

    private func requireNetwork(_ operation: StorageOperation, _ key: ObjectKey?) throws(StorageError) {
        guard operations.contains(operation) else { return }
        let isReachable = state.withLock { state in
            if !state.isReachable { state.refusedCalls += 1 }
            return state.isReachable
        }
        guard isReachable else { throw StorageError(.unreachable, "The network is switched off.", key: key) }
    }
}
