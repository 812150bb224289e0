package import LFSStorage

/// What the pool tells about a job, after it is durable.
package enum TransferEvent: Sendable {
    case progress(id: String, bytesTransferred: Int64, totalBytes: Int64)
    case uploaded(id: String, RemoteObject)
    /// A try failed. `nextAttempt` is nil when none follows by itself.
    case failed(id: String, StorageError, nextAttempt: Duration?)
    /// The storage as a whole is away, or back.
    case reachable(Bool, StorageError?)
    /// Nothing is queued in memory and nothing runs.
    case idle
}
