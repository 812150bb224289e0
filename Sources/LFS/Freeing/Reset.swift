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

    /// Deletes the rows. Their deletion is no deletion of the files, so it leaves no tombstones.
    func deleteRows(
        _ confirmation: ResetConfirmation, alongside: @escaping @Sendable (Database) throws -> Void
    ) async throws {
        try await runner.writeDurably { db in
            let count = try Self.notUploadedCount(db)
            guard count == confirmation.notUploaded else {
                throw LFSError(
                    .notUploaded,
                    "\(count) files are not uploaded and would be lost, and the reset was confirmed for \(confirmation.notUploaded). Wait for uploads, or confirm the loss of \(count)."
                )
            }
            try db.execute(sql: "CREATE TEMP TABLE lfs_kept AS SELECT * FROM lfs_tombstone")
            if confirmation.pendingDeletions == .drop { try db.execute(sql: "DELETE FROM temp.lfs_kept") }
            try alongside(db)
            try db.execute(sql: Self.deletion)
        }
    }

    private static let deletion = """
        DELETE FROM lfs_file;
        DELETE FROM lfs_tombstone;
        INSERT INTO lfs_tombstone SELECT * FROM temp.lfs_kept;
        DROP TABLE temp.lfs_kept;
        DELETE FROM lfs_job;
        DELETE FROM lfs_copy;
        DELETE FROM lfs_disowned;
        DELETE FROM lfs_replaced;
        UPDATE lfs_state SET isResetting = 1;
        """

    /// Removes the bytes that a reset has left, if there was one.
    ///
    /// Only for the holder of the exclusive lease, before anything is made or swept: every file there is from before.
    func finish() async throws {
        guard try await runner.read({ db in try Self.isUnderWay(db) }) else { return }
        let places = places
        try await BlockingPool.shared.run { _ in
            try places.store.requireUnchanged()
            for area in places.areas {
                let cursor = try area.files()
                while let page = try cursor.next() { for file in page { try area.remove(file.id) } }
            }
            try places.store.removeEverything()
        }
        try await places.store.directory.synchronize()
        try await runner.write { db in try db.execute(sql: "UPDATE lfs_state SET isResetting = 0") }
    }
}
