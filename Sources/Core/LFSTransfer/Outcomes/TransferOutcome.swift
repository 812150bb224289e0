package import LFSStorage

/// The outcome of one attempt to upload a file.
package struct TransferOutcome: Sendable {
    package enum Result: Sendable {
        /// The storage has confirmed the file.
        case uploaded(RemoteObject)
        /// The attempt failed, and the job is due again after the delay.
        case retry(StorageError, after: Duration, AttemptCount)
        /// The whole storage is unavailable or rejects us, or may do so. The job stays due, and the failure is not
        /// counted for the file.
        case waiting(StorageError)
        /// No later attempt can succeed unless a person fixes the cause.
        case failed(StorageError)
        case skipped(SkipReason)
        /// A stop or a cancellation ended the attempt early. The job is unchanged.
        case givenBack
    }

    /// The values that the durable queue stores about the failed attempts, including this one.
    package struct AttemptCount: Sendable {
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

    /// The error of the attempt, if it failed.
    var error: StorageError? {
        switch result {
        case .retry(let error, _, _), .failed(let error), .waiting(let error): error
        default: nil
        }
    }
}
