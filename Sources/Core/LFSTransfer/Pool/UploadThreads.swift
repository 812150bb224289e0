package import LFSStorage
import LFSSystem

/// The threads of uploads.
///
/// For a small file, handovers between threads cost more than the rest of its upload. Such an upload runs on the thread
/// that also sends its requests, if the storage has one. Larger files would keep this thread from the requests while
/// they are read and hashed.
package struct UploadThreads: Sendable {
    /// A file below this size is small. The engine on libcurl sends its bytes together with the head of the request.
    private static let smallByteCount: Int64 = 64 << 10

    /// The threads on which executors take their jobs and upload small files.
    let ofExecutors: any TaskExecutor

    package init(_ storage: any RemoteStorage) {
        ofExecutors = (storage as? any ThreadedStorage)?.executor ?? BlockingPool.uploads
    }

    /// Runs a part of a job on its threads.
    package func run<Result, Failure: Error>(
        _ job: TransferJob, _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let threads = job.byteCount < Self.smallByteCount ? ofExecutors : BlockingPool.uploads
        return try await withTaskExecutorPreference(threads, operation: body)
    }
}
