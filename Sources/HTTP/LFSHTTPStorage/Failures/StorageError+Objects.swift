package import LFSStorage

extension StorageError {
    /// Returns the error for a condition on an entity tag that does not hold.
    package static func changed(_ key: ObjectKey) -> StorageError {
        StorageError(.changed, message: "The object was replaced by another one.", key: key)
    }

    /// Returns the error for an upload whose confirmation from the server contradicts the sent bytes.
    package static func notProven(_ key: ObjectKey) -> StorageError {
        StorageError(.integrity, message: "The server has other bytes than were sent.", key: key)
    }
}
