import LFSSystem

/// Lets at most a number of calls reach a storage at once; the others wait in the order they came.
public final class LimitedStorage<Base: RemoteStorage>: RemoteStorage {
    private let base: Base
    private let permits: Permits

    /// Puts the limit before a storage.
    ///
    /// - Parameters:
    ///   - base: the storage that answers.
    ///   - concurrentCalls: at least 1; less counts as 1.
    public init(_ base: Base, concurrentCalls: Int) {
        self.base = base
        permits = Permits(concurrentCalls)
    }

    /// Those of the storage below.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on when its turn comes.
    ///
    /// - Throws: `cancelled` when the task is cancelled before its turn, and what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await limited { try await base.upload(source, to: key, session: session) }
    }

    /// Passes the call on when its turn comes.
    ///
    /// - Throws: `cancelled` when the task is cancelled before its turn, and what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await limited { try await base.download(request, into: sink) }
    }

    /// Passes the call on when its turn comes.
    ///
    /// - Throws: `cancelled` when the task is cancelled before its turn, and what the storage below throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await limited { try await base.head(key) }
    }

    /// Passes the call on when its turn comes.
    ///
    /// - Throws: `cancelled` when the task is cancelled before its turn, and what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await limited { try await base.delete(key, abandoning: checkpoint) }
    }

    /// Passes the call on when its turn comes.
    ///
    /// - Throws: `cancelled` when the task is cancelled before its turn, and what the storage below throws.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await limited { try await base.list(request) }
    }

    private func limited<Result>(_ call: () async throws -> Result) async throws -> Result {
        do {
            try await permits.acquire()
        } catch {
            throw StorageError(.cancelled, "The call was cancelled while it waited for its turn.", cause: error)
        }
        defer { permits.release() }
        return try await call()
    }
}
