public import GRDB
import LFSFiles
import LFSSystem

extension LFSManager {
    /// How many files a ``reset(_:alongside:)`` would lose now: those whose upload is not proven.
    public func filesLostByReset() async throws -> Int {
        try await runner.read { db in try Reset.notUploadedCount(db) }
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
    /// The rows of all `lfs_` tables, the local copies, unfinished downloads, damaged files, and files that were made and
    /// not inserted: all of them go. Objects on the storage stay. When it returns, another manager can be opened, with no
    /// files; when it throws, the manager has stopped, and unless the rows were gone already nothing has changed. What a
    /// crash leaves of it, the next open removes.
    ///
    /// - Parameters:
    ///   - confirmation: what may be lost.
    ///   - alongside: deletes the app's own rows in the same transaction. Foreign keys to `lfs_file` act as they are
    ///     declared, and a row that still refers to a file makes the whole fail. No file is deleted on the storage with
    ///     its owner here.
    /// - Throws: ``LFSError/Code/notUploaded`` when not exactly what was confirmed would be lost;
    ///   ``LFSError/Code/openElsewhere`` while another process has the database open;
    ///   ``LFSError/Code/wrongStore``; the database's error.
    public func reset(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws {
        try await stop()
        let lease = places.store.lease
        guard try lease.tryLock(.exclusive) else {
            throw LFSError(
                .openElsewhere,
                "Another process, or another LFSManager, has this database open. Stop it before the reset.")
        }
        let result: Result<Void, any Error>
        do {
            try places.store.requireUnchanged()
            let reset = Reset(runner: runner, places: places, wallClock: options.wallClock)
            try await reset.deleteRows(confirmation, alongside: alongside)
            result = .success(try await reset.finish())
        } catch {
            result = .failure(LFSError.wrapping(error))
        }
        try lease.unlock()
        try result.get()
    }
}
