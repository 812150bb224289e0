public import LFSStorage
import Synchronization

/// A storage that loses the end of a file and claims to have all of it, as a server does that answers before the body
/// has come.
public struct TruncatingStorage: StorageWrapper {
    /// The storage below, which is sound.
    public let base: any RemoteStorage
    private let operations: Set<StorageOperation>
    private let lostBytes: Int

    /// Puts the fault before a sound storage.
    ///
    /// - Parameters:
    ///   - base: the sound storage.
    ///   - operations: the calls that lose the end; only uploads and downloads have bytes.
    ///   - lostBytes: how many bytes are lost from the end of each file.
    public init(_ base: any RemoteStorage, on operations: Set<StorageOperation> = [.upload], lostBytes: Int = 1) {
        self.base = base
        self.operations = operations
        self.lostBytes = lostBytes
    }

    /// Stores the file without its last bytes, and says that it has all of them.
    ///
    /// - Throws: what the storage below throws.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        guard operations.contains(.upload) else { return try await base.upload(source, to: key, session: session) }
        let rest = try UploadSource.temporary(source.contents().dropLast(lostBytes))
        var object = try await base.upload(rest, to: key, session: session)
        object.byteCount = source.byteCount
        object.sha256 = source.sha256
        return object
    }

    /// Ends without the last bytes, and describes the whole object.
    ///
    /// - Throws: what the storage below throws.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        guard operations.contains(.download) else { return try await base.download(request, into: sink) }
        // The last bytes so far stay behind: whether more come shows only with the next ones.
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
