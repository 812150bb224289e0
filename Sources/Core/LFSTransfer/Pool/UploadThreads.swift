import LFSStorage
import LFSSystem

/// The threads of uploads.
///
/// For a small file, handovers between threads cost more than the rest of its upload. Such an upload runs on the thread
/// that also sends its requests, if the storage has one. Larger files would keep this thread from the requests while
/// they are read and hashed.
struct UploadThreads: Sendable {
    /// The threads on which executors take their jobs and upload small files.
    let ofExecutors: any TaskExecutor

    init(_ storage: any RemoteStorage) {
        ofExecutors = (storage as? any ThreadedStorage)?.executor ?? BlockingPool.uploads
    }

    /// Runs a part of a job on its threads.
    func run<Result, Failure: Error>(
        _ job: TransferJob, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let threads = job.byteCount < BlockingPool.handoverByteCount ? ofExecutors : BlockingPool.uploads
        return try await withTaskExecutorPreference(threads, operation: body)
    }
}
