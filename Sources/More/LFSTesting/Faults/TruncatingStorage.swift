public import LFSStorage
import Synchronization

/// A storage that loses the end of a file and reports the whole file, like a server that responds before the body has
/// arrived.
public struct TruncatingStorage: StorageWrapper {
    /// The wrapped storage. Tests can call it directly to avoid the faults.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let lostBytes: Int

    /// Wraps a storage with this fault.
    ///
    /// - Parameters:
    ///   - base: the storage to wrap.
    ///   - operations: the calls that lose the end. Only uploads and downloads have bytes.
    ///   - lostBytes: the number of bytes that are lost at the end of each file.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload], lostBytes: Int = 1) {
        self.base = base
        self.operations = operations
        self.lostBytes = lostBytes
    }

    /// Stores the file without its last bytes, and reports the whole file.
    ///
    /// - Throws: errors of the wrapped storage.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard operations.contains(.upload) else { return try await base.upload(source, to: key, session: session) }
        let rest = try UploadSource.temporary(source.contents().dropLast(lostBytes))
        var object = try await base.upload(rest, to: key, session: session)
        object.byteCount = source.byteCount
        object.sha256 = source.sha256
        return object
    }

    /// Delivers the object without its last bytes, and describes the whole object.
    ///
    /// - Throws: errors of the wrapped storage.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        guard operations.contains(.download) else { return try await base.download(request, into: sink) }
        // Holds back the last bytes so far. Only the next bytes show that they are not at the end.
        let held = Mutex<[UInt8]>([])
        let truncating = DownloadSink(onBegin: sink.begin(entityTag:)) { bytes in
            let passing = held.withLock { held in
                held += bytes
                defer { held.removeFirst(max(held.count - lostBytes, 0)) }
                return Array(held.dropLast(lostBytes))
            }
            if !passing.isEmpty { try passing.withUnsafeBytes { try sink.write($0) } }
        }
        return try await base.download(request, into: truncating)
    }
}
