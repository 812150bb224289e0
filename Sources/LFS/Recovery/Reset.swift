import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// Removes everything of a database that is on this device: first the rows, durably and with a note that the bytes
/// follow, then the bytes. A crash in between is finished by the next open.
///
/// The objects on the storage stay: whoever empties a device does not delete what others still have.
struct Reset: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let wallClock: @Sendable () -> Date

    /// - Throws: ``LFSError/Code/notUploaded`` when more would be lost than was confirmed.
    static func require(_ confirmation: ResetConfirmation, _ db: Database) throws {
        let count = try FileTable.onlyHereCount(db)
        guard count > confirmation.notUploaded else { return }
        throw LFSError(
            .notUploaded,
            """
            \(count) files are not uploaded and would be lost, and the reset was confirmed for \
            \(confirmation.notUploaded). Wait for uploads, or confirm the loss of \(count).
            """
        )
    }

    /// Does all of it. Only for who has stopped everything else that this process does with the database.
    ///
    /// - Throws: ``LFSError/Code/openElsewhere`` while another process has the database open, or anybody the cache in
    ///   the store.
    func perform(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        guard try places.store.openLock.tryLock(.exclusive) else {
            throw LFSError(
                .openElsewhere,
                "Another process, or another LFSManager, has this database open. Stop it before the reset.")
        }
        let result = await Result.catching {
            try places.store.requireUnchanged()
            // Before the rows go: who opens the cache afterwards sees that it is of before the reset.
            let cache = try places.store.holdCache()
            if case .busy = cache {
                throw LFSError(
                    .openElsewhere, "The MediaCache in \(places.store.path) is open. Close it before the reset.")
            }
            try await deleteRows(confirmation, alongside: alongside)
            try await finish(cache)
            try await eraseLog()
        }
        try places.release()
        try result.get()
    }

    /// Deletes the rows. Their deletion is no deletion of the files, so it leaves no tombstones, but for files that
    /// were never uploaded: what an unfinished upload has left on the storage is of use to nobody.
    func deleteRows(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        // What was made in this very millisecond is from before as well.
        let from = wallClock().millisecondsSince1970 + 1
        try await runner.writeDurably { db in
            // Again: rows may have come since the first look.
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
                "Everything is removed, but another connection reads the database, so that its log still has deleted "
                    + "rows. Close that connection and reset again.")
        }
    }

    /// Removes the bytes that a reset has left, if there was one.
    ///
    /// Only for the holder of the exclusive open lock, before anything is made or swept. What was made after the reset
    /// stays: the database may be a backup from its middle that was put back beside a newer folder.
    ///
    /// - Parameter held: the cache, held since before the rows went; nil takes it now.
    func finish(_ held: LocalStore.CacheHold? = nil) async throws {
        guard let resetBefore = try await runner.read(StateTable.resetBefore) else { return }
        let places = places
        let isOfReset: @Sendable (FileID) -> Bool = { !$0.tellsTime || $0.milliseconds < resetBefore }
        try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            let swept = try places.beginSweep()
            let result = Result { for area in swept { try Self.empty(area, where: isOfReset) } }
            // Whatever came of it: others wait for these locks.
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
