import Foundation
public import LFSStorage

/// A storage that says it has done what it was asked for, and has done nothing.
public struct LyingStorage: StorageWrapper {
    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>

    /// Puts the fault before a sound storage.
    ///
    /// - Parameters:
    ///   - base: the sound storage.
    ///   - operations: the calls that it lies about: an upload is not stored, a download ends without its bytes, a
    ///     deleted object stays. The others only ask.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload]) {
        self.base = base
        self.operations = operations
    }

    /// Reports the whole file as stored, and stores nothing.
    ///
    /// - Throws: what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard operations.contains(.upload) else { return try await base.upload(source, to: key, session: session) }
        session.report(bytesTransferred: source.byteCount)
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256,
            url: URL(fileURLWithPath: "/nowhere").appendingPathComponent(key.rawValue))
    }

    /// Reports the object as fetched, and keeps its bytes back.
    ///
    /// - Throws: what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        guard operations.contains(.download) else { return try await base.download(request, into: sink) }
        return try await base.download(request, into: DownloadSink(onBegin: sink.begin(entityTag:)) { _ in })
    }

    /// Reports the object as deleted, and leaves it.
    ///
    /// - Throws: what the storage below throws.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        guard !operations.contains(.delete) else { return }
        try await base.delete(key, abandoning: checkpoint)
    }
}
