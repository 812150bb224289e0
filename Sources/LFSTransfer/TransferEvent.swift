package import LFSStorage
package import LFSSystem

/// What the pool tells about a job, after it is durable.
package enum TransferEvent: Sendable {
    case progress(id: FileID, bytesTransferred: Int64, totalBytes: Int64)
    case uploaded(id: FileID, RemoteObject)
    /// A try failed. `nextAttempt` is nil when none follows by itself.
    case failed(id: FileID, StorageError, nextAttempt: Duration?)
    /// The storage as a whole is away or refuses us, and why; nil: it is back.
    case outage(StorageError?)
    /// The wait between two probes of an outage is over. A deletion that waits may ask the storage now, as the probe.
    case probeIsDue
    /// The durable queue could not be read or written; it is tried again by itself.
    case journalFailed(any Error)
    /// Nothing is queued in memory and nothing runs.
    case idle
}
