package import LFSStorage
package import LFSSystem

/// An event of the pool. The outcome of a job is reported after it is durable.
package enum TransferEvent: Sendable {
    case progress(id: FileID, bytesTransferred: Int64, totalBytes: Int64)
    case uploaded(id: FileID, RemoteObject)
    /// The upload is complete, but the file's row was deleted in the meantime. Its object will be removed.
    case discarded(id: FileID)
    /// An attempt failed. `nextAttempt` is nil if no automatic retry follows.
    case failed(id: FileID, StorageError, nextAttempt: Duration?)
    /// The whole storage is unavailable or rejects us, with the reason. Nil means that it is available again.
    case outage(StorageError?)
    /// The delay between two probes of an outage is over. A waiting deletion may now call the storage as the probe.
    case probeIsDue
    /// The durable queue could not be read or written. The pool retries automatically.
    case journalFailed(any Error)
    /// No job waits in memory, and none is running.
    case idle
}
