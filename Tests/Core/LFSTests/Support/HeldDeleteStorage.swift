import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization

/// An in-memory storage whose next delete waits until the test releases it.
///
/// The mutex owns the gate.
final class HeldDeleteStorage: StorageWrapper {
    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    private let gate = Mutex<Gate?>(nil)

    /// Returns the gate that the next delete reaches.
    func hold() -> Gate {
        let new = Gate()
        gate.withLock { $0 = new }
        return new
    }

    func release() { gate.withLock { $0 }?.opened.open() }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await gate.withLock { $0 }?.pass()
        try await memory.delete(key, abandoning: checkpoint)
    }
}

/// The files with running uploads.
///
/// The mutex owns the state.
final class HeldFiles: Sendable {
    private let state = Mutex<Set<FileID>>([])
    var ids: Set<FileID> { state.withLock { $0 } }
    func insert(_ id: FileID) { state.withLock { _ = $0.insert(id) } }
    func remove(_ id: FileID) { state.withLock { _ = $0.remove(id) } }
}
