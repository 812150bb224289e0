package import LFSStorage

extension StorageError {
    /// After a condition on an entity tag that does not hold.
    package static func changed(_ key: ObjectKey) -> StorageError {
        StorageError(.changed, "The object is another one by now.", key: key)
    }

    /// After an upload, when the server's own word on the object contradicts what was sent.
    package static func notProven(_ key: ObjectKey) -> StorageError {
        StorageError(.integrity, "The server holds other bytes than were sent.", key: key)
    }
}
