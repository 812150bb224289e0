import Dispatch

/// A queue for calls that wait for a disk, so that they do not block the threads of Swift's own pool.
final class FileQueue: SerialExecutor {
    /// A queue for reading open files.
    static let readers = FileQueue(DispatchQueue(label: "journal.readers", attributes: .concurrent))

    private let queue: DispatchQueue

    init(_ queue: DispatchQueue = DispatchQueue(label: "journal.folder")) { self.queue = queue }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result(catching: body)) }
        }
    }
}
