import LFSSystem

/// The triggers on `lfs_file`. They apply to every writer of a row: the record API, raw SQL, a cascade, another
/// process.
///
/// No statement in them has a conflict clause such as `OR IGNORE`. SQLite replaces it with the clause of the statement
/// that fires the trigger (https://sqlite.org/lang_createtrigger.html). An `INSERT OR REPLACE` of the host would then
/// replace rows of LFS. The statements use `NOT EXISTS` instead.
///
/// Rows from a server are written within ``StateTable/applying(_:_:)``. This device did not request such a change. So
/// an inserted row queues no upload, and a deleted one removes no object.
enum Triggers {
    static let all = [
        // Inserts
        refuseRemoved, refuseHeld, keepReplaced, noteReplaced, stampInsert, enqueue, takeBack, restoreReplaced,
        // Updates
        stampUpdate, keepContent, keepRemote, settleReceived,
        // Deletes
        addTombstone, forget,
    ]

    /// The current time in milliseconds since 1970. SQLite before 3.42 does not have `unixepoch('subsec')`.
    private static let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"

    // MARK: Inserts

    /// Rejects the id of a deleted file whose bytes are being removed.
    private static let refuseRemoved = """
        CREATE TRIGGER lfs_file_refuse_removed BEFORE INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id AND state = 'removing')
        BEGIN SELECT RAISE(ABORT, '\(InsertRefusal.removed.message)'); END
        """

    /// Rejects a received row of a file that was deleted on this device while the server has not answered yet. Either
    /// the deletion is accepted, or ``TombstoneTable/reject(_:_:)`` restores the row first. An app that inserts the
    /// file again thereby cancels the deletion.
    private static let refuseHeld = """
        CREATE TRIGGER lfs_file_refuse_held BEFORE INSERT ON lfs_file
        WHEN \(StateTable.isApplying()) AND EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id AND isHeld = 1)
        BEGIN SELECT RAISE(ABORT, '\(InsertRefusal.held.message)'); END
        """

    /// Rejects an `INSERT OR REPLACE` that gives a file other content. It changes a row like an update, but fires no
    /// update trigger. It fires no delete trigger either unless `recursive_triggers` is on.
    private static let keepReplaced = """
        CREATE TRIGGER lfs_file_keep_replaced BEFORE INSERT ON lfs_file
        WHEN EXISTS (
            SELECT 1 FROM lfs_file WHERE id = NEW.id
            AND (key IS NOT NEW.key OR byteCount IS NOT NEW.byteCount OR sha256 IS NOT NEW.sha256))
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// Saves the upload state of a row before an `INSERT OR REPLACE` replaces it. The app may have read its record
    /// before the upload ended, and no record contains the proof. ``restoreReplaced`` restores the state and the proof.
    ///
    /// Data that an ignored insert has left is cleared by the next insert of any id.
    private static let noteReplaced = """
        CREATE TRIGGER lfs_file_note_replaced BEFORE INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_replaced) OR EXISTS (SELECT 1 FROM lfs_file WHERE id = NEW.id)
        BEGIN
            DELETE FROM lfs_replaced;
            INSERT INTO lfs_replaced (fileID, url, proof)
            SELECT id, url, proof FROM lfs_file WHERE id = NEW.id AND status = 'remote';
        END
        """

    /// Restores the `remote` status, the URL and the proof after an `INSERT OR REPLACE`.
    private static let restoreReplaced = """
        CREATE TRIGGER lfs_file_restore_replaced AFTER INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id)
        BEGIN
            UPDATE lfs_file SET status = 'remote', url = (SELECT url FROM lfs_replaced WHERE fileID = NEW.id)
            WHERE id = NEW.id AND NEW.status = 'local';
            UPDATE lfs_file SET proof = (SELECT proof FROM lfs_replaced WHERE fileID = NEW.id) WHERE id = NEW.id;
            DELETE FROM lfs_replaced WHERE fileID = NEW.id;
        END
        """

    /// Queues the upload in the transaction that inserts the row. A row whose key has another database's namespace was
    /// created on another device, which uploads it. A row of this database that a server sends back existed before, and
    /// its bytes are lost, for example after a reset.
    ///
    /// Nearly every insert fires this trigger. So it checks its conditions before it writes anything. Its `INSERT` has
    /// no `SELECT`, for which SQLite would create a temporary table each time.
    private static let enqueue = """
        CREATE TRIGGER lfs_file_enqueue AFTER INSERT ON lfs_file
        WHEN NEW.status = 'local' AND \(StateTable.isOurs("NEW.key")) AND NOT \(StateTable.isApplying())
            AND NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id)
            AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id)
            AND NOT \(JobTable.contains("NEW.id"))
            -- A trigger that ran before may have restored the status 'remote'.
            AND EXISTS (SELECT 1 FROM lfs_file WHERE id = NEW.id AND status = 'local')
        BEGIN
            INSERT INTO lfs_job (\(newJob.columns)) VALUES (\(newJob.values));
        END
        """

    private static let newJob = JobTable.insertion(of: "NEW", now: now)

    /// Restores the pin and the job from the tombstone when a deleted file is inserted again before the removal of its
    /// bytes has started. This also applies to an `INSERT OR REPLACE` with `recursive_triggers`, which deletes the row
    /// and inserts it again.
    ///
    /// If the tombstone contains no job, a `local` row of this database gets a new one. There are two exceptions, in
    /// which the row had no job before: a held deletion, and a row that a server sends back.
    private static let takeBack = """
        CREATE TRIGGER lfs_file_take_back AFTER INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id)
        BEGIN
            INSERT INTO lfs_job (\(keptJob.columns))
            SELECT \(keptJob.values), t.checkpoint, coalesce(t.jobState, 'queued'), t.jobErrorCode, t.jobErrorMessage,
                coalesce(t.jobReplacesObject, 0)
            FROM lfs_file f JOIN lfs_tombstone t ON t.fileID = f.id
            WHERE f.id = NEW.id AND NOT \(JobTable.contains("f.id"))
                AND CASE WHEN \(StateTable.isApplying()) THEN t.jobState IS NOT NULL
                    ELSE \(StateTable.isOurs("f.key")) AND (t.jobState IS NOT NULL
                        OR f.status = 'local' AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = f.id)
                            AND NOT (t.isHeld = 1 AND t.status IS 'local')) END;
            INSERT INTO lfs_copy (fileID, isPinned) SELECT fileID, 1 FROM lfs_tombstone
            WHERE fileID = NEW.id AND isPinned = 1 AND NOT EXISTS (SELECT 1 FROM lfs_copy WHERE fileID = NEW.id);
            DELETE FROM lfs_tombstone WHERE fileID = NEW.id;
        END
        """

    private static let keptJob = JobTable.insertion(
        ", checkpoint, state, errorCode, errorMessage, replacesObject", of: "f", now: now)

    // MARK: Updates

    /// Gives a row a new `updateID`: a UUID version 7 (RFC 9562, section 5.7) with a counter in `rand_a` (section 6.2,
    /// method 1). Its first 60 bits never decrease within a database. Writes are serialized, so ids ascend in the order
    /// of commits. A reader that remembers the last id it has read misses no change.
    private static let stamp = """
        UPDATE lfs_state SET
            updateSequence = CASE
                WHEN \(now) > updateMillisecond THEN 0
                WHEN updateSequence < 4095 THEN updateSequence + 1
                ELSE 0 END,
            updateMillisecond = CASE
                WHEN \(now) > updateMillisecond THEN \(now)
                WHEN updateSequence < 4095 THEN updateMillisecond
                ELSE updateMillisecond + 1 END;
        UPDATE lfs_file SET updateID = (
            SELECT printf('%08x-%04x-7%03x-%04x-%012x',
                updateMillisecond >> 16, updateMillisecond & 65535, updateSequence,
                32768 | (random() & 16383), random() & 281474976710655)
            FROM lfs_state) WHERE rowid = NEW.rowid;
        """

    /// Gives a new row its `updateID`, unless it has one.
    private static let stampInsert = """
        CREATE TRIGGER lfs_file_stamp_insert AFTER INSERT ON lfs_file WHEN NEW.updateID = ''
        BEGIN \(stamp) END
        """

    /// Gives a changed row its `updateID`, unless the update sets one, as this trigger does itself. Changes from a
    /// server get a new id too, because ids ascend in the order of this database's commits, not of the server's.
    private static let stampUpdate = """
        CREATE TRIGGER lfs_file_stamp_update AFTER UPDATE ON lfs_file WHEN NEW.updateID IS OLD.updateID
        BEGIN \(stamp) END
        """

    /// Rejects an update that gives a file other content or another id.
    private static let keepContent = """
        CREATE TRIGGER lfs_file_keep_content BEFORE UPDATE OF id, key, byteCount, sha256 ON lfs_file
        WHEN NEW.id IS NOT OLD.id OR NEW.key IS NOT OLD.key
            OR NEW.byteCount IS NOT OLD.byteCount OR NEW.sha256 IS NOT OLD.sha256
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// Undoes a change from `remote` to `local`. It happens when the app saves a record that it read before the upload.
    private static let keepRemote = """
        CREATE TRIGGER lfs_file_keep_remote AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'remote' AND NEW.status = 'local'
        BEGIN UPDATE lfs_file SET status = 'remote', url = OLD.url WHERE id = NEW.id; END
        """

    /// Deletes the job of a file when a server reports the file as uploaded. In this case the device itself uploaded
    /// it, before an older copy of the database was restored. A job that has uploaded parts stays, and its upload will
    /// find the object. Notes about an incorrect object stay too, because ``keepRemote`` and ``restoreReplaced`` also
    /// fire this trigger.
    private static let settleReceived = """
        CREATE TRIGGER lfs_file_settle_received AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'local' AND NEW.status = 'remote' AND \(StateTable.isApplying())
        BEGIN
            DELETE FROM lfs_job WHERE fileID = NEW.id AND checkpoint IS NULL AND replacesObject = 0
                AND errorCode IS NOT '\(JobTable.lostCode)';
        END
        """

    // MARK: Deletes

    /// Records that the bytes must be removed too, on the device and on the storage. The tombstone keeps the pin and
    /// the job's state, in case the file is inserted again before the removal starts. When an app inserts a `local`
    /// file again, its upload is queued again, so the job is not kept.
    ///
    /// A deletion from a server leaves the object: others may still have the file, and the device that deleted it
    /// removes the object. A file that only this device could upload is an exception. No other device knows its object.
    /// There may be parts, or a running upload may still create the object, and no other device would remove them.
    ///
    /// A held deletion keeps the row.
    private static let addTombstone = """
        CREATE TRIGGER lfs_file_deleted AFTER DELETE ON lfs_file
        BEGIN
            INSERT INTO lfs_tombstone (
                fileID, key, removesObject, checkpoint, jobState, jobErrorCode, jobErrorMessage, jobReplacesObject,
                isPinned)
            SELECT OLD.id, OLD.key,
                NOT \(StateTable.isApplying())
                    OR OLD.status = 'local' AND \(StateTable.isOnlyHere("OLD.id", key: "OLD.key")),
                j.checkpoint, k.state, k.errorCode, k.errorMessage, coalesce(j.replacesObject, 0),
                EXISTS (SELECT 1 FROM lfs_copy WHERE fileID = OLD.id AND isPinned = 1)
            FROM (SELECT 1) LEFT JOIN lfs_job j ON j.fileID = OLD.id
                LEFT JOIN lfs_job k ON k.fileID = OLD.id
                    AND (OLD.status = 'remote' OR \(StateTable.isApplying()) OR \(StateTable.holdsDeletions))
            WHERE NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = OLD.id);
            UPDATE lfs_tombstone SET isHeld = 1, status = OLD.status, url = OLD.url, proof = OLD.proof,
                name = OLD.name, contentType = OLD.contentType, byteCount = OLD.byteCount, sha256 = OLD.sha256,
                crc64 = OLD.crc64, createdAt = OLD.createdAt
            WHERE fileID = OLD.id AND state = 'pending' AND \(StateTable.holdsDeletions);
            DELETE FROM lfs_job WHERE fileID = OLD.id;
            DELETE FROM lfs_copy WHERE fileID = OLD.id;
        END
        """

    /// Removes the record that an owner has released the file, because it is deleted already.
    private static let forget = """
        CREATE TRIGGER lfs_file_forget AFTER DELETE ON lfs_file
        BEGIN DELETE FROM lfs_disowned WHERE fileID = OLD.id; END
        """
}

/// The reason why a trigger rejects an insert.
package enum InsertRefusal: CaseIterable, Sendable {
    /// The bytes of the file do not exist on this device.
    case noBytes
    /// The file was deleted, and the removal of its bytes has started.
    case removed
    /// The file was deleted on this device, and the server has not answered yet.
    case held

    /// The message in SQLite's error. It is a literal, because RAISE does not accept an expression.
    package var message: String {
        switch self {
        case .noBytes:
            "LFS: the bytes of this file are not on this device. Insert the result of makeFile after it has returned."
        case .removed:
            "LFS: this file was deleted and its bytes are being removed. Make a new FileData instead."
        case .held:
            "LFS: this file was deleted here and the server has not answered yet. Apply its row after the answer."
        }
    }
}
