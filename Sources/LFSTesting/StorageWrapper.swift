public import LFSStorage

/// A storage around another one: what it does not define itself goes on unchanged.
///
/// For tests, where a fault is a wrapper with one method. A wrapper in a product spells out every method instead.
public protocol StorageWrapper: RemoteStorage {
    /// The storage that answers in the end.
    var base: any RemoteStorage { get }
}

extension StorageWrapper {
    /// Those of the storage below.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on.
    ///
    /// - Throws: what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await base.upload(source, to: key, session: session)
    }

    /// Passes the call on.
    ///
    /// - Throws: what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await base.download(request, into: sink)
    }

    /// Passes the call on.
    ///
    /// - Throws: what the storage below throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject { try await base.head(key) }

    /// Passes the call on.
    ///
    /// - Throws: what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Passes the call on.
    ///
    /// - Throws: what the storage below throws.
    public func list(_ request: ListRequest) async throws -> ListPage { try await base.list(request) }
}
