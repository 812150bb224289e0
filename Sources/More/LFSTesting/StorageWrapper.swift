public import LFSStorage

/// A storage that wraps another one. Calls that it does not implement are forwarded unchanged.
///
/// Wrappers are meant for tests, where a fault overrides one method. A wrapper in a product should implement every
/// method explicitly.
public protocol StorageWrapper: RemoteStorage {
    /// The wrapped storage.
    var base: any RemoteStorage { get }
}

extension StorageWrapper {
    /// The capabilities of the wrapped storage.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Forwards the call.
    ///
    /// - Throws: errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await base.upload(source, to: key, session: session)
    }

    /// Forwards the call.
    ///
    /// - Throws: errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await base.download(request, into: sink)
    }

    /// Forwards the call.
    ///
    /// - Throws: errors of the wrapped storage.
    public func head(_ key: ObjectKey) async throws -> RemoteObject { try await base.head(key) }

    /// Forwards the call.
    ///
    /// - Throws: errors of the wrapped storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Forwards the call.
    ///
    /// - Throws: errors of the wrapped storage.
    public func list(_ request: ListRequest) async throws -> ListPage { try await base.list(request) }
}
