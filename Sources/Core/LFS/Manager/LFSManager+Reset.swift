public import GRDB
import LFSDatabase

extension LFSManager {
    /// Returns the number of files that a ``reset(_:alongside:)`` would lose now: the files whose upload is not proven.
    ///
    /// - Throws: the database's error.
    public func filesLostByReset() async throws -> Int {
        try await LFSError.catching { try await runner.read(FileTable.onlyHereCount) }
    }

    /// Removes everything of this database that LFS keeps on this device, and stops the manager. Use it for "log out"
    /// and "delete my data from this device".
    ///
    /// ```swift
    /// try await lfs.reset(.everythingIsUploaded) { db in
    ///     try Recipe.deleteAll(db)
    /// }
    /// ```
    ///
    /// The reset removes the rows of files with their uploads, pins and last uses. It removes local copies, unfinished
    /// downloads, damaged files, and files that were made and not inserted. The data about the database itself in
    /// `lfs_state`, `lfs_location` and `lfs_owner` is kept. ``ResetConfirmation/pendingDeletions`` decides whether
    /// deletions are kept.
    ///
    /// A `MediaCache` of the product `LFSCache` is emptied as well. A cache in the local store is emptied at once, so
    /// close it first. A cache in another folder is emptied when it is opened the next time.
    ///
    /// Objects on the storage are kept, and verification does not treat them as orphans, because another device may use
    /// them. A file that was never uploaded is on no other device. So the next manager removes what its unfinished
    /// upload has left on the storage.
    ///
    /// When the call returns, another manager can be opened, with no files. When the confirmation does not suffice,
    /// nothing has changed and the manager keeps running, unless files were added while it was being stopped. With any
    /// other error the manager has stopped. Nothing else has changed then, unless the rows were already deleted. The
    /// next open finishes a reset that a crash interrupted.
    ///
    /// - Parameters:
    ///   - confirmation: the losses that are accepted.
    ///   - alongside: deletes the app's own rows in the same transaction. Foreign keys to `lfs_file` act as declared,
    ///     and a row that still refers to a file makes the whole reset fail. Deleting an owner in this closure deletes
    ///     no file on the storage.
    /// - Throws: ``LFSError/Code/notUploaded`` when more files would be lost than was confirmed,
    ///   ``LFSError/Code/notRunning`` while another reset of this manager is running, ``LFSError/Code/openElsewhere``
    ///   while another process has the database open or while the cache in the local store is open,
    ///   ``LFSError/Code/wrongStore``, and the database's error.
    public func reset(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws {
        try lifecycle.beginReset()
        defer { lifecycle.endReset() }
        let reset = Reset(runner: runner, places: places, wallClock: options.wallClock)
        try await LFSError.catching {
            // Before the stop, so that a refusal leaves the manager running.
            try await runner.read { db in try Reset.require(confirmation, db) }
            try await close()
            try await reset.perform(confirmation, alongside: alongside)
        }
    }
}
