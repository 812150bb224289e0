public import Logging

/// Logs what a storage is asked and how it answered: calls as `trace`, errors as `debug`.
///
/// Keys are logged, names and URLs are not.
public struct LoggingStorage<Base: RemoteStorage>: RemoteStorage {
    private let base: Base
    private let logger: Logger

    /// Logs the calls to a storage.
    public init(_ base: Base, logger: Logger) {
        self.base = base
        self.logger = logger
    }

    /// Those of the storage below.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on and logs how it ended.
    ///
    /// - Throws: what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await logged("storage upload", key) { try await base.upload(source, to: key, session: session) }
    }

    /// Passes the call on and logs how it ended.
    ///
    /// - Throws: what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        try await logged("storage download", request.key) { try await base.download(request, into: sink) }
    }

    /// Passes the call on and logs how it ended.
    ///
    /// - Throws: what the storage below throws.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await logged("storage head", key) { try await base.head(key) }
    }

    /// Passes the call on and logs how it ended.
    ///
    /// - Throws: what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await logged("storage delete", key) { try await base.delete(key, abandoning: checkpoint) }
    }

    /// Passes the call on and logs how it ended.
    ///
    /// - Throws: what the storage below throws.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await logged("storage list", nil) { try await base.list(request) }
    }

    private func logged<Result>(
        _ message: Logger.Message, _ key: ObjectKey?, _ call: () async throws -> Result
    ) async throws -> Result {
        var metadata: Logger.Metadata = ["lfs.storage": "\(capabilities.kind)"]
        if let key { metadata["lfs.key"] = "\(key)" }
        do {
            let result = try await call()
            logger.trace(message, metadata: metadata)
            return result
        } catch {
            metadata["error.code"] = "\(StorageError(wrapping: error).code)"
            logger.debug(message, metadata: metadata)
            throw error
        }
    }
}
