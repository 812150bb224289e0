import Dispatch
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Threads of uploads", .timeLimit(.minutes(10)))
struct UploadThreadTests {
    /// Runs tasks on a queue that code can recognize.
    private final class QueueExecutor: TaskExecutor {
        private let queue = DispatchQueue(label: "engine")
        private let key = DispatchSpecificKey<Bool>()

        init() { queue.setSpecific(key: key, value: true) }

        var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    /// A storage whose engine is a queue. It records the keys of the uploads that ran on the queue.
    private struct QueueStorage: StorageWrapper, ThreadedStorage {
        let memory = InMemoryStorage()
        let queue = QueueExecutor()
        let onQueue = EventLog<ObjectKey>()

        var base: any RemoteStorage { memory }
        var executor: (any TaskExecutor)? { queue }

        func upload(
            _ source: UploadSource, to key: ObjectKey, session: UploadSession
        ) async throws -> RemoteObject {
            if queue.isCurrent { onQueue.add(key) }
            return try await base.upload(source, to: key, session: session)
        }
    }

    @Test("Small uploads run on the engine's thread, and large ones do not")
    func small() async throws {
        let storage = QueueStorage()
        try await withPool(storage, jobs: ["small"], large: ["large"]) { await $0.waitForEnd(of: 2) }
        #expect(storage.onQueue.events.count == 1)
        #expect(storage.memory.keys.count == 2)
    }

    @Test("Uploads of a storage without an engine run on other threads")
    func withoutEngine() async throws {
        let memory = InMemoryStorage()
        #expect(UploadThreads(memory).ofExecutors is BlockingPool)
        try await withPool(memory, jobs: ["small"]) { await $0.waitForEnd(of: 1) }
        #expect(memory.keys.count == 1)
    }
}
