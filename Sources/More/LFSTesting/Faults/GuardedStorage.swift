package import LFSStorage

/// A storage with one fault for all operations. It decides about each call before the wrapped storage gets it.
package protocol GuardedStorage: StorageWrapper {
    /// The operations with the fault. The others are forwarded unchanged.
    var operations: Set<StorageOperation> { get }

    /// Makes a call of one of the ``operations``, or fails in its place.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - key: the object of the call. Nil for a listing.
    ///   - call: the call of the wrapped storage.
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    func admit<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value
}

extension GuardedStorage {
    /// Forwards the call unless uploads have the fault.
    ///
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await forward(.upload, key: key) { try await base.upload(source, to: key, session: session) }
    }

    /// Forwards the call unless downloads have the fault.
    ///
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await forward(.download, key: request.key) { try await base.download(request, into: sink) }
    }

    /// Forwards the call unless such calls have the fault.
    ///
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await forward(.head, key: key) { try await base.head(key) }
    }

    /// Forwards the call unless deletes have the fault.
    ///
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await forward(.delete, key: key) { try await base.delete(key, abandoning: checkpoint) }
    }

    /// Forwards the call unless listings have the fault.
    ///
    /// - Throws: the error of the fault, and errors of the wrapped storage.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await forward(.list, key: nil) { try await base.list(request) }
    }

    private func forward<Value>(
        _ operation: StorageOperation, key: ObjectKey?, _ call: () async throws -> Value
    ) async throws -> Value {
        guard operations.contains(operation) else { return try await call() }
        return try await admit(operation, key: key, call)
    }
}
