import LFSStorage

extension StorageError {
    static func notFromS3(_ key: ObjectKey?) -> StorageError {
        StorageError(
            .unreachable,
            message: "The reply is not from S3. Check for a proxy or a sign-in page in front of it.",
            key: key)
    }
}
