import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// The removal of all data of a database from this device. A durable transaction deletes the rows and records that the
/// bytes have to follow. Then the bytes are removed. The next open finishes a reset that a crash interrupted.
///
/// The objects on the storage are kept, because emptying one device must not delete files that other devices use.
struct Reset: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let wallClock: @Sendable () -> Date

    /// - Throws: ``LFSError/Code/notUploaded`` when more files would be lost than was confirmed.
    static func require(_ confirmation: ResetConfirmation, _ db: Database) throws {
        let count = try FileTable.onlyHereCount(db)
        guard count > confirmation.notUploaded else { return }
        throw LFSError(
            .notUploaded,
            message: """
                \(count) files are not uploaded and would be lost, but the reset was confirmed for \
                \(confirmation.notUploaded). Wait for uploads, or confirm the loss of \(count).
                """
        )
    }

    /// Performs the whole reset. The caller must have stopped all other work of this process on the database.
    ///
    /// - Throws: ``LFSError/Code/openElsewhere`` while another process has the database open, or while the cache in the
    ///   store is open.
    func perform(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        guard try places.store.openLock.tryLock(.exclusive) else {
            throw LFSError(
                .openElsewhere,
                message: "Another process, or another LFSManager, has this database open. Stop it before the reset.")
        }
        let result = await Result.catching {
            try places.store.requireUnchanged()
            // Before the rows are deleted, so that a later opening of the cache sees that its contents are from before
            // the reset.
            let cache = try places.store.holdCache()
            if case .busy = cache {
                throw LFSError(
                    .openElsewhere,
                    message: "The MediaCache in \(places.store.path) is open. Close it before the reset.")
            }
            try await deleteRows(confirmation, alongside: alongside)
            try await finish(cache)
            try await eraseLog()
        }
        try places.release()
        try result.get()
    }

    /// Deletes the rows. Their files are not deleted on the storage, so the rows leave no tombstones. Files that were
    /// never uploaded are the exception: the remains of their unfinished uploads are of no use to any device.
    func deleteRows(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        // A file that was made in this millisecond counts as older than the reset.
        let from = wallClock().millisecondsSince1970 + 1
        try await runner.writeDurably { db in
            // Checked again, because rows may have been added since the first check.
            try Self.require(confirmation, db)
            try ResetRows.erasing(db) {
                try ResetRows.delete(
                    before: from, keepsTombstones: confirmation.pendingDeletions == .keep, db, alongside: alongside)
            }
        }
    }

    /// Removes the deleted rows from the database's log too.
    ///
    /// - Throws: ``LFSError/Code/openElsewhere`` while another connection uses the database.
    private func eraseLog() async throws {
        do {
            try await runner.withWriter { try ResetRows.eraseLog($0) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw LFSError(
                .openElsewhere,
                message:
                    "Everything is removed, but another connection reads the database, so its log still has deleted "
                    + "rows. Close that connection and reset again.")
        }
    }

    /// Removes the bytes that an unfinished reset has left, if there was one.
    ///
    /// Only for the holder of the exclusive open lock, before any file is made or swept. Files that were made after the
    /// reset are kept. The database may be a restored backup from the middle of the reset, with a newer folder.
    ///
    /// - Parameter held: the cache, held since before the rows were deleted. Nil locks it now.
    func finish(_ held: LocalStore.CacheHold? = nil) async throws {
        guard let resetBefore = try await runner.read(StateTable.resetBefore) else { return }
        let places = places
        let isOfReset: @Sendable (FileID) -> Bool = { !$0.tellsTime || $0.milliseconds < resetBefore }
        try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            let swept = try places.beginSweep()
            let result = Result { for area in swept { try Self.empty(area, where: isOfReset) } }
            // Also after an error, because other processes wait for these locks.
            try places.endSweep(swept)
            try result.get()
            try places.store.removeEverything(cache: held ?? places.store.holdCache(), where: isOfReset)
            try places.store.directory.synchronize()
        }
        try await runner.write(StateTable.endReset)
    }

    private static func empty(_ area: StagingArea, where mayGo: (FileID) -> Bool) throws {
        let cursor = try area.files()
        while let page = try cursor.next() { for file in page where mayGo(file.id) { try area.remove(file.id) } }
    }
}
