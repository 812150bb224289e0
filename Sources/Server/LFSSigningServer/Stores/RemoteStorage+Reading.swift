import LFSStorage
import LFSSystem
import Synchronization

/// A container for received bytes. Owner of its state: the mutex.
private final class ResultBox<Value: Sendable>: Sendable {
    let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }
}

extension RemoteStorage {
    /// Returns the first bytes of an object.
    ///
    /// - Throws: `StorageError`.
    func prefix(of key: ObjectKey, _ limit: Int) async throws -> [UInt8] {
        let received = ResultBox<[UInt8]>([])
        let sink = DownloadSink { bytes in
            received.value.withLock { $0.append(contentsOf: bytes.prefix(limit - $0.count)) }
        }
        _ = try await download(DownloadRequest(key), into: sink)
        return received.value.withLock { $0 }
    }

    /// Returns the SHA-256 of an object in hex by reading all of it.
    ///
    /// - Throws: `StorageError`.
    func sha256(of object: RemoteObject) async throws -> String {
        let received = ResultBox(ContentHash())
        let sink = DownloadSink { bytes in received.value.withLock { $0.update(bytes) } }
        _ = try await download(DownloadRequest(object.key, entityTag: object.entityTag), into: sink)
        return received.value.withLock { $0.hex }
    }
}
