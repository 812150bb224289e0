import LFSStorage

/// The check that makes an upload count as confirmed: the object that the storage reports must match the row.
///
/// ``Executor`` calls it. Without a SHA-256, the executor also requires that the local file still has its size, and
/// takes the object's size from `head` if the storage usually reports a checksum.
///
/// A storage returns a SHA-256 only with evidence. That evidence is in `DirectoryUpload`, in `ObjectConfirmation` of
/// LFSS3, in `BlobPut` and `BlockUpload` of LFSAzure, in `TemporaryPut` of LFSWebDAV, and in `FileUpload` of
/// LFSSignedURL.
enum UploadConfirmation {
    /// - Throws: ``StorageError/Code/integrity`` if the key, the size or the SHA-256 of the object differs.
    static func require(_ object: RemoteObject, for source: UploadSource, job: TransferJob) throws(StorageError) {
        guard object.key == job.key else {
            throw StorageError(.integrity, message: "The storage stored '\(object.key)' instead.", key: job.key)
        }
        guard object.byteCount == source.byteCount else {
            throw StorageError(
                .integrity, message: "The storage holds \(object.byteCount) of \(source.byteCount) bytes.", key: job.key
            )
        }
        if let sha256 = object.sha256, sha256 != source.sha256 {
            throw StorageError(
                .integrity, message: "The storage holds other bytes: their SHA-256 differs.", key: job.key)
        }
    }
}
