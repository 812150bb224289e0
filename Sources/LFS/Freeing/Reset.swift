import Foundation
import GRDB
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

    /// The files whose only bytes may be here: not uploaded yet, to be uploaded again, or lost on the storage.
    static func notUploadedCount(_ db: Database) throws -> Int {
        let sql = """
            SELECT count(*) FROM lfs_file WHERE EXISTS (SELECT 1 FROM lfs_job WHERE fileID = id)
                OR status = 'local' AND substr(key, 1, 33) = (SELECT namespace || '/' FROM lfs_state)
            """
        return try Int.fetchOne(db, sql: sql) ?? 0
    }

    /// Whether the rows are gone and the bytes are still to go.
    static func isUnderWay(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT isResetting FROM lfs_state") ?? false
    }

    /// - Throws: ``LFSError/Code/notUploaded`` when more would be lost than was confirmed.
    static func require(_ confirmation: ResetConfirmation, _ db: Database) throws {
        let count = try notUploadedCount(db)
        guard count > confirmation.notUploaded else { return }
        throw LFSError(
            .notUploaded,
            "\(count) files are not uploaded and would be lost, and the reset was confirmed for \(confirmation.notUploaded). Wait for uploads, or confirm the loss of \(count)."
        )
    }

    /// Deletes the rows. Their deletion is no deletion of the files, so it leaves no tombstones, but for files that were
    /// never uploaded: what an unfinished upload has left on the storage is of use to nobody.
    func deleteRows(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        // What was made in this very millisecond is from before as well.
        let from = wallClock().millisecondsSince1970 + 1
        try await runner.writeDurably { db in
            // Again: rows may have come since the first look.
            try Self.require(confirmation, db)
            try db.execute(sql: "CREATE TEMP TABLE lfs_kept (fileID TEXT PRIMARY KEY NOT NULL)")
            if confirmation.pendingDeletions == .keep { try db.execute(sql: Self.noteKept) }
            try alongside(db)
            try db.execute(sql: Self.deletion)
            try db.execute(
                sql: "UPDATE lfs_state SET isResetting = 1, resetBefore = ?1, sweepsFrom = max(sweepsFrom, ?1)",
                arguments: [from])
        }
    }

    /// Deletions that were asked for, and files that were never uploaded. Not those from a time that another copy of the
    /// database may know better, which may have uploaded them: the first 48 bits of an id are its milliseconds.
    private static let noteKept = """
        INSERT INTO temp.lfs_kept
        SELECT fileID FROM lfs_tombstone
        UNION SELECT f.id FROM lfs_file f JOIN lfs_state s
        WHERE f.status = 'local' AND substr(f.key, 1, 33) = s.namespace || '/' AND substr(f.id, 15, 1) = '7'
            AND f.id >= printf('%08x-%04x', s.sweepsFrom >> 16, s.sweepsFrom & 65535)
        """

    private static let deletion = """
        DELETE FROM lfs_file;
        DELETE FROM lfs_tombstone WHERE fileID NOT IN (SELECT fileID FROM temp.lfs_kept);
        DROP TABLE temp.lfs_kept;
        DELETE FROM lfs_job;
        DELETE FROM lfs_copy;
        DELETE FROM lfs_disowned;
        DELETE FROM lfs_replaced;
        """

    /// Removes the bytes that a reset has left, if there was one.
    ///
    /// Only for the holder of the exclusive lease, before anything is made or swept. What was made after the reset stays:
    /// the database may be a backup from its middle that was put back beside a newer folder.
    func finish() async throws {
        let resetBefore = try await runner.read { db in
            try Self.isUnderWay(db) ? Int64.fetchOne(db, sql: "SELECT resetBefore FROM lfs_state") : nil
        }
        guard let resetBefore else { return }
        let places = places
        let isOfReset: @Sendable (FileID) -> Bool = { !$0.tellsTime || $0.milliseconds < resetBefore }
        try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            let swept = try places.beginSweep()
            let result = Result { for area in swept { try Self.empty(area, where: isOfReset) } }
            // Whatever came of it: others wait for these locks.
            try places.endSweep(swept)
            try result.get()
            try places.store.removeEverything(where: isOfReset)
            try places.store.directory.synchronize()
        }
        try await runner.write { db in try db.execute(sql: "UPDATE lfs_state SET isResetting = 0") }
    }

    private static func empty(_ area: StagingArea, where mayGo: (FileID) -> Bool) throws {
        let cursor = try area.files()
        while let page = try cursor.next() { for file in page where mayGo(file.id) { try area.remove(file.id) } }
    }
}
