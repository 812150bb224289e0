import LFSStorage

extension StorageError {
    static func notFromS3(_ key: ObjectKey?) -> StorageError {
        StorageError(
            .unreachable, "The answer is not from S3: look whether a proxy or a sign-in page stands before it.",
            key: key)
    }
}
