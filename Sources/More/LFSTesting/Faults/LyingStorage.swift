import Foundation
public import LFSStorage

/// A storage that reports success without doing anything.
public struct LyingStorage: StorageWrapper {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the affected calls. An upload is not stored, a download delivers no bytes, and a deletion keeps
    ///     the object. The other operations only read and are never affected.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload]) {
        self.base = base
        self.operations = operations
    }

    /// Reports the whole file as stored, but stores nothing.
    ///
    /// - Throws: errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard operations.contains(.upload) else { return try await base.upload(source, to: key, session: session) }
        session.report(bytesTransferred: source.byteCount)
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256,
            url: URL(fileURLWithPath: "/nowhere").appendingPathComponent(key.rawValue))
    }

    /// Reports the object as downloaded, but delivers no bytes.
    ///
    /// - Throws: errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        guard operations.contains(.download) else { return try await base.download(request, into: sink) }
        return try await base.download(request, into: DownloadSink(onBegin: sink.begin(entityTag:)) { _ in })
    }

    /// Reports the object as deleted, but keeps it.
    ///
    /// - Throws: errors of the wrapped storage.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        guard !operations.contains(.delete) else { return }
        try await base.delete(key, abandoning: checkpoint)
    }
}
