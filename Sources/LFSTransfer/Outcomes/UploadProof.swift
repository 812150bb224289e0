import LFSStorage

/// Success needs proof: what the storage says it holds has to be what the row describes.
enum UploadProof {
    /// - Throws: ``StorageError/Code/integrity`` when the storage's word does not agree.
    static func require(_ object: RemoteObject, for source: UploadSource, _ job: TransferJob) throws(StorageError) {
        guard object.key == job.key else {
            throw StorageError(.integrity, "The storage stored '\(object.key)' instead.", key: job.key)
        }
        guard object.byteCount == source.byteCount else {
            throw StorageError(
                .integrity, "The storage holds \(object.byteCount) of \(source.byteCount) bytes.", key: job.key)
        }
        if let sha256 = object.sha256, sha256 != source.sha256 {
            throw StorageError(.integrity, "The storage holds other bytes: their SHA-256 differs.", key: job.key)
        }
    }
}
