import LFSStorage
import Synchronization

extension StorageConformance {
    /// Checks for cancelled tasks.
    static let cancellationChecks: [StorageCheck] = [
        StorageCheck("an upload by a cancelled task ends with an error and leaves nothing", cancelledBefore),
        StorageCheck("an upload that is cancelled in progress leaves the whole object or nothing", cancelledOnItsWay),
        StorageCheck(
            "an upload that is cancelled in progress leaves the former object or the new one", cancelledReplacement),
        StorageCheck(
            "a download that is cancelled in progress ends, and its bytes so far are right", cancelledDownload),
    ]

    private static func cancelledBefore(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        try await room.failing("an upload by a cancelled task fails with a storage error") {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                group.addTask { try await room.upload(TestContent.make(2 * TestContent.chunk), to: key) }
                try await group.waitForAll()
            }
        }
        try room.require(try await room.content(of: key) == nil, rule: "nothing is stored")
    }

    private static func cancelledOnItsWay(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(8 * TestContent.chunk)
        let succeeded = try await uploadAndCancel(content, to: key, room: room)
        let stored = try await room.content(of: key)
        try room.require(stored == nil || stored == content, rule: "the object is complete or missing")
        try room.require(!succeeded || stored == content, rule: "an upload that succeeded nevertheless is stored")
        let listed = try await room.objects(below: room.prefix).joined()
        try room.require(
            listed.count == 1 || stored == nil && listed.isEmpty, rule: "a listing shows only stored objects")
        // A server that had received all bytes may have finished the upload between the two requests.
        let inTheEnd = try await room.content(of: key)
        try room.require(listed.isEmpty || inTheEnd == content, rule: "a listing shows nothing unfinished")
    }

    private static func cancelledReplacement(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let former = TestContent.make(3 * TestContent.chunk, seed: 1)
        let content = TestContent.make(8 * TestContent.chunk, seed: 2)
        try await room.upload(former, to: key)
        let succeeded = try await uploadAndCancel(content, to: key, room: room)
        let stored = try await room.content(of: key)
        try room.require(
            stored == content || (!succeeded && stored == former), rule: "the former object or the new one is there")
    }

    /// Uploads, and cancels the task at the first progress report. Returns true if the upload succeeded nevertheless.
    private static func uploadAndCancel(_ content: [UInt8], to key: ObjectKey, room: CheckRoom) async throws -> Bool {
        try await cancelling { cancel in
            try await room.upload(content, to: key, session: UploadSession(onProgress: { _ in cancel() }))
        }
    }

    private static func cancelledDownload(_ room: CheckRoom) async throws {
        let key = try room.key("content")
        let content = TestContent.make(8 * TestContent.chunk)
        try await room.upload(content, to: key)
        let received = Mutex<[UInt8]>([])
        let succeeded = try await cancelling { cancel in
            let sink = DownloadSink { bytes in
                received.withLock { $0.append(contentsOf: bytes) }
                cancel()
            }
            _ = try await room.storage.download(DownloadRequest(key), into: sink)
        }
        let bytes = received.withLock { $0 }
        try room.require(content.starts(with: bytes), rule: "the received bytes are the right ones")
        try room.require(
            !succeeded || bytes == content, rule: "a download that succeeded nevertheless delivered every byte")
    }

    /// Runs a call that can cancel its own task. Returns true if the call succeeded. Only storage errors may end it
    /// otherwise.
    private static func cancelling(
        _ call: @escaping @Sendable (_ cancel: @escaping @Sendable () -> Void) async throws -> Void
    ) async throws -> Bool {
        let handle = Mutex<Task<Bool, any Error>?>(nil)
        let (starts, start) = AsyncStream<Void>.makeStream()
        // An unstructured task, because only a task handle can cancel at once, even from a thread outside any task.
        let task = Task {
            for await _ in starts { break }
            do {
                try await call { handle.withLock { $0 }?.cancel() }
                return true
            } catch is StorageError {
                return false
            }
        }
        handle.withLock { $0 = task }
        start.yield()
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
