public import LFSStorage
import Synchronization

/// A storage that flips one bit of the transferred bytes without an error, as faulty memory or a faulty disk does.
public struct ByteFlippingStorage: StorageWrapper {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the calls in which a bit flips. Only uploads and downloads have bytes.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload, .download]) {
        self.base = base
        self.operations = operations
    }

    /// Uploads the file with a flipped bit in the middle, and reports the original checksum.
    ///
    /// - Throws: errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard operations.contains(.upload), source.byteCount > 0 else {
            return try await base.upload(source, to: key, session: session)
        }
        var content = try source.contents()
        content[content.count / 2] ^= 1
        var object = try await base.upload(.temporary(content), to: key, session: session)
        object.sha256 = source.sha256
        return object
    }

    /// Downloads the object with a flipped bit in the middle of the first chunk.
    ///
    /// - Throws: errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        guard operations.contains(.download) else { return try await base.download(request, into: sink) }
        let isFlipped = Mutex(false)
        let flipping = DownloadSink(onBegin: sink.begin(entityTag:)) { bytes in
            var bytes = Array(bytes)
            let isDue = isFlipped.withLock { isFlipped in
                defer { isFlipped = true }
                return !isFlipped
            }
            if isDue, !bytes.isEmpty { bytes[bytes.count / 2] ^= 1 }
            try bytes.withUnsafeBytes { try sink.write($0) }
        }
        return try await base.download(request, into: flipping)
    }
}
