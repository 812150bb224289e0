package import LFSStorage

/// How one try to upload ended.
package struct TransferOutcome: Sendable {
    package enum Result: Sendable {
        /// The storage has proven that it holds the file.
        case uploaded(RemoteObject)
        /// The file's own try failed, and the job is due again after the delay.
        case retry(StorageError, after: Duration, Tries)
        /// The storage as a whole is away or refuses us, or may: the job stays due, and no file is to blame.
        case waiting(StorageError)
        /// No later try can help unless someone mends the cause.
        case failed(StorageError)
        case skipped(SkipReason)
        /// Stopped before its end, by a stop or a cancellation; it stays as it was.
        case givenBack
    }

    /// What the durable queue has to know of the failed tries, this one included.
    package struct Tries: Sendable {
        package var count: Int
        package var sending: SendBudget

        package init(count: Int, sending: SendBudget) {
            self.count = count
            self.sending = sending
        }
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
        case .retry(let error, _, _), .failed(let error), .waiting(let error): error
        default: nil
        }
    }
}
