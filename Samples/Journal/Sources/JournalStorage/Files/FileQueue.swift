import Dispatch

/// A queue for calls that wait for a disk, so that they do not block the threads of Swift's own pool.
final class FileQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "journal.folder")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
