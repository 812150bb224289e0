import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization

/// An in-memory storage that runs a script before each upload and delete.
///
/// The mutex owns the state.
final class ScriptedStorage: StorageWrapper {
    typealias Step = @Sendable (_ key: ObjectKey, _ call: Int) async throws -> Void

    let memory = InMemoryStorage()
    var base: any RemoteStorage { memory }
    private let calls = Mutex<(uploads: Int, deletes: Int)>((0, 0))
    private let beforeUpload: Step
    private let beforeDelete: Step

    init(beforeUpload: @escaping Step = { _, _ in }, beforeDelete: @escaping Step = { _, _ in }) {
        self.beforeUpload = beforeUpload
        self.beforeDelete = beforeDelete
    }

    var uploads: Int { calls.withLock { $0.uploads } }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        let call = calls.withLock { calls in
            calls.uploads += 1
            return calls.uploads
        }
        try await beforeUpload(key, call)
        return try await memory.upload(source, to: key, session: session)
    }

    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        let call = calls.withLock { calls in
            calls.deletes += 1
            return calls.deletes
        }
        try await beforeDelete(key, call)
        try await memory.delete(key, abandoning: checkpoint)
    }
}

/// A point that an upload reaches and where it waits until the test opens it.
final class Gate: Sendable {
    let reached = Latch()
    let opened = Latch()

    func pass() async throws {
        reached.open()
        await opened.wait()
        try Task.checkCancellation()
    }
}
