import Foundation
import LFSStorage
import LFSTesting
import Synchronization

/// A storage that records the abandoned uploads with their checkpoints. The mutex owns the list.
final class AbandonedUploads: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    private let list = Mutex<[String: Data]>([:])
    private let beforeUpload: @Sendable (UploadSession) async throws -> Void
    var abandoned: [String: Data] { list.withLock { $0 } }

    init(beforeUpload: @escaping @Sendable (UploadSession) async throws -> Void = { _ in }) {
        self.beforeUpload = beforeUpload
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await beforeUpload(session)
        return try await base.upload(source, to: key, session: session)
    }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        list.withLock { $0[key.rawValue] = checkpoint?.rawValue ?? Data() }
        try await base.delete(key, abandoning: checkpoint)
    }
}
