/// A remote place that stores bytes under keys, such as a bucket, a container or a folder.
///
/// Every implementation follows these rules. The conformance suite in `LFSTesting` checks them.
///
/// - An object exists completely or not at all. No reader ever sees a part of one. A failed upload leaves the previous
///   object under the key, or nothing.
/// - ``upload(_:to:session:)`` returns only with evidence. The storage has received every byte of the source, and its
///   own checksum, or else its byte count, agrees. Uploading the same content to the same key again succeeds.
/// - Every error is a ``StorageError``. Its code shows whether a retry can help.
/// - Implementations do not log, and do not start a failed upload again. The manager does that for all of them.
/// - Calls may run concurrently, also for the same key. The call of a cancelled task ends soon, with an error.
public protocol RemoteStorage: Sendable {
    /// The capabilities of this storage. They never change.
    var capabilities: StorageCapabilities { get }

    /// Stores the source's bytes under the key and replaces an existing object.
    ///
    /// - Parameters:
    ///   - source: the bytes, whose size and SHA-256 are known.
    ///   - key: the key of the object.
    ///   - session: contains the checkpoint of an earlier attempt, receives the progress, and saves checkpoints for a
    ///     later attempt. A storage that cannot resume ignores its checkpoint.
    /// - Returns: the stored object as reported by the storage.
    /// - Throws: ``StorageError``. Then the previous object still exists under the key, or nothing does.
    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject

    /// Passes the bytes of an object, or of a range of it, to the sink, in order and each only once.
    ///
    /// If the storage has entity tags, it first calls ``DownloadSink/begin(entityTag:)``.
    /// - Returns: the description of the whole object, also for a range.
    /// - Throws: ``StorageError/Code/missing``, ``StorageError/Code/changed`` if the object has another entity tag than
    ///   the request, or ``StorageError/Code/rangeRefused``. After an error, the bytes that the sink has received are
    ///   correct but may be incomplete.
    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject

    /// Returns the description of an object without its bytes.
    ///
    /// - Throws: ``StorageError/Code/missing``.
    func head(_ key: ObjectKey) async throws -> RemoteObject

    /// Removes an object and all leftovers of an unfinished upload to its key.
    ///
    /// Removing an object that does not exist succeeds.
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - checkpoint: the last checkpoint of an abandoned upload to this key, if there is one.
    /// - Throws: ``StorageError``, unless the storage has confirmed that the object does not exist any more.
    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws

    /// Returns a page of the objects whose keys have a prefix, in the order of their keys' bytes.
    ///
    /// - Throws: ``StorageError``.
    func list(_ request: ListRequest) async throws -> ListPage
}
