public import GRDB
import LFSDatabase

extension LFSManager {
    /// How many files a ``reset(_:alongside:)`` would lose now: those whose upload is not proven.
    ///
    /// - Throws: the database's error.
    public func filesLostByReset() async throws -> Int {
        try await LFSError.catching { try await runner.read(FileTable.onlyHereCount) }
    }

    /// Removes everything of this database that LFS keeps on this device, and stops the manager: for "log out" and
    /// "delete my data from this device".
    ///
    /// ```swift
    /// try await lfs.reset(.everythingIsUploaded) { db in
    ///     try Recipe.deleteAll(db)
    /// }
    /// ```
    ///
    /// The rows of files with their uploads, pins and last uses, the local copies, unfinished downloads, damaged files,
    /// and files that were made and not inserted: all of them go. What `lfs_state`, `lfs_location` and `lfs_owner` say
    /// of the database itself stays, and so do deletions as ``ResetConfirmation/pendingDeletions`` says.
    ///
    /// A `MediaCache` of the product `LFSCache` is emptied as well: one in the local store at once, so close it first;
    /// one in another folder when it is opened the next time.
    ///
    /// Objects on the storage stay, and verification takes none of them for garbage: another device may have them. What
    /// was never uploaded nobody else has, so the next manager removes what an unfinished upload of it has left there.
    ///
    /// When it returns, another manager can be opened, with no files. When it is refused because of the confirmation,
    /// nothing has changed and the manager goes on, unless files came while it was stopped. With any other error the
    /// manager has stopped, and unless the rows were gone already nothing else has changed. What a crash leaves of it,
    /// the next open removes.
    ///
    /// - Parameters:
    ///   - confirmation: what may be lost.
    ///   - alongside: deletes the app's own rows in the same transaction. Foreign keys to `lfs_file` act as they are
    ///     declared, and a row that still refers to a file makes the whole fail. No file is deleted on the storage with
    ///     its owner here.
    /// - Throws: ``LFSError/Code/notUploaded`` when more would be lost than was confirmed;
    ///   ``LFSError/Code/notRunning`` while another reset of this manager is under way;
    ///   ``LFSError/Code/openElsewhere`` while another process has the database open, or anybody the cache in the local
    ///   store;
    ///   ``LFSError/Code/wrongStore``; the database's error.
    public func reset(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws {
        try lifecycle.beginReset()
        defer { lifecycle.endReset() }
        let reset = Reset(runner: runner, places: places, wallClock: options.wallClock)
        try await LFSError.catching {
            // Before the stop, so that a refusal leaves the manager as it is.
            try await runner.read { db in try Reset.require(confirmation, db) }
            try await close()
            try await reset.perform(confirmation, alongside: alongside)
        }
    }
}
