import Foundation
import LFSStorage
import LFSTesting
import Synchronization

/// A storage that records the abandoned uploads with their checkpoints. The mutex owns the list.
final class AbandonedUploads: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    private let list = Mutex<[String: Data]>([:])
    var abandoned: [String: Data] { list.withLock { $0 } }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        list.withLock { $0[key.rawValue] = checkpoint?.rawValue ?? Data() }
        try await base.delete(key, abandoning: checkpoint)
    }
}
