package import LFSStorage

/// How one try to upload ended.
package struct TransferOutcome: Sendable {
    package enum Result: Sendable {
        /// The storage has proven that it holds the file.
        case uploaded(RemoteObject)
        /// The job is due again after the delay. `counts` tells whether it was the file's own try that failed.
        case retry(StorageError, after: Duration, counts: Bool)
        /// No later try can help unless someone mends the cause.
        case failed(StorageError)
        case skipped(SkipReason)
        /// Stopped before its end, by a stop or a cancellation; it stays as it was.
        case givenBack
    }

    package let job: TransferJob
    package let result: Result

    package init(job: TransferJob, result: Result) {
        self.job = job
        self.result = result
    }

    /// What went wrong, if something did.
    var error: StorageError? {
        switch result {
        case .retry(let error, _, _), .failed(let error): error
        default: nil
        }
    }
}
