/// A place that takes bytes under keys: a bucket, a container, a folder.
///
/// Rules that every implementation keeps, and that the conformance suite in `LFSTesting` checks:
///
/// - An object is there whole or not at all. No reader ever sees a part of one, and an upload that fails leaves
///   what was under the key before, or nothing.
/// - ``upload(_:to:session:)`` returns only with proof: the storage took every byte of the source, and its own word
///   (checksum, or else byte count) agrees. Uploading the same content to the same key again succeeds.
/// - Every error is a ``StorageError``; its code says whether another try can help.
/// - Nothing is retried here and nothing is logged: ``RetryingStorage`` and ``LoggingStorage`` do that for all.
/// - Calls run beside each other, also for the same key. A cancelled task ends its call soon, with an error.
public protocol RemoteStorage: Sendable {
    /// What this storage can do. The same for its whole life.
    var capabilities: StorageCapabilities { get }

    /// Stores the source's bytes under the key, replacing what is there.
    ///
    /// - Parameters:
    ///   - source: an open file whose size and SHA-256 are known.
    ///   - key: where the object goes.
    ///   - session: what an earlier try left to go on from, and where to report progress and to save what a later try
    ///     needs. A storage that cannot resume ignores its checkpoint.
    /// - Returns: the object as the storage has it now, by its own word.
    /// - Throws: ``StorageError``. What was under the key before is there still, or nothing is.
    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject

    /// Sends the bytes of an object, or of a range of it, to the sink, in order and only once each.
    ///
    /// The entity tag goes to ``DownloadSink/begin(entityTag:)`` first, where the storage has one.
    /// - Returns: the whole object's description, also for a range.
    /// - Throws: ``StorageError/Code/missing``, ``StorageError/Code/changed`` when the request's entity tag is not
    ///   the object's, or ``StorageError/Code/rangeRefused``. The sink may hold bytes after an error; they are the
    ///   right ones as far as they go.
    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject

    /// Describes an object without its bytes.
    ///
    /// - Throws: ``StorageError/Code/missing``.
    func head(_ key: ObjectKey) async throws -> RemoteObject

    /// Removes an object, and with it whatever an unfinished upload to its key has left.
    ///
    /// Removing what is not there succeeds.
    /// - Parameters:
    ///   - key: where the object is.
    ///   - checkpoint: the last checkpoint of an upload to this key that was given up, if there is one.
    /// - Throws: ``StorageError``, unless the storage itself has confirmed that the object is gone.
    func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws

    /// One page of the objects whose keys begin with a prefix, in the order of their keys' bytes.
    ///
    /// - Throws: ``StorageError``.
    func list(_ request: ListRequest) async throws -> ListPage
}
