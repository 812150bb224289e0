import Foundation
import LFSStorage
import Synchronization

/// A storage that accepts every upload and keeps nothing, so that only the library's own work is measured.
///
/// The mutex owns its state.
final class InstantStorage: RemoteStorage {
    private struct State {
        var started = 0
        var uploads: [ContinuousClock.Instant] = []
    }

    private let state = Mutex(State())
    private let latency: Duration
    private let limit: Int

    /// - Parameters:
    ///   - latency: the duration of each upload.
    ///   - limit: the number of uploads that complete. Later ones wait until they are cancelled.
    init(latency: Duration = .zero, limit: Int = .max) {
        self.latency = latency
        self.limit = limit
    }

    let capabilities = StorageCapabilities(kind: "instant", proof: .checksum)

    /// The end times of the uploads, in order.
    var uploads: [ContinuousClock.Instant] { state.withLock { $0.uploads } }

    func upload(
        _ source: UploadSource, to key: ObjectKey, session: UploadSession
    ) async throws -> RemoteObject {
        let number = state.withLock { state in
            state.started += 1
            return state.started
        }
        do {
            if number > limit { try await Task.sleep(for: .seconds(86_400)) }
            if latency > .zero { try await Task.sleep(for: latency) }
        } catch {
            throw StorageError(.cancelled, message: "The upload was cancelled.", key: key)
        }
        state.withLock { $0.uploads.append(.now) }
        return RemoteObject(
            key: key, byteCount: source.byteCount, sha256: source.sha256,
            url: URL(fileURLWithPath: "/instant/\(key.rawValue)"))
    }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        throw StorageError(.missing, message: "This storage keeps nothing.", key: request.key)
    }

    func head(_ key: ObjectKey) async throws -> RemoteObject {
        throw StorageError(.missing, message: "This storage keeps nothing.", key: key)
    }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {}

    func list(_ request: ListRequest) async throws -> ListPage { ListPage(objects: [], next: nil) }
}
