import LFSSystem

/// The triggers on `lfs_file`. They hold for whatever writes the row: the record API, raw SQL, a cascade, another
/// process.
///
/// None of their statements has a conflict clause such as `OR IGNORE`. SQLite uses the clause of the statement that
/// fires a trigger in the place of those in it (https://sqlite.org/lang_createtrigger.html). An `INSERT OR REPLACE` of
/// the host would then replace rows of ours. They ask with `NOT EXISTS` instead.
///
/// Rows that came from a server are written within ``StateTable/applying(_:_:)``. Such a row is no wish of this device:
/// it queues no upload, and its deletion removes no object.
enum Triggers {
    static let all = [
        // A row comes.
        refuseRemoved, refuseHeld, keepReplaced, noteReplaced, stampInsert, enqueue, takeBack, restoreReplaced,
        // It changes.
        stampUpdate, keepContent, keepRemote, settleReceived,
        // It goes.
        addTombstone, forget,
    ]

    /// Now in milliseconds since 1970; SQLite before 3.42 has no `unixepoch('subsec')`.
    private static let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"

    // MARK: A row comes

    /// Refuses the id of a file that was deleted and whose bytes are being removed.
    private static let refuseRemoved = """
        CREATE TRIGGER lfs_file_refuse_removed BEFORE INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id AND state = 'removing')
        BEGIN SELECT RAISE(ABORT, '\(InsertRefusal.removed.message)'); END
        """

    /// Refuses a received row of a file that was deleted here while the server has not answered: the deletion wins,
    /// or else ``TombstoneTable/reject(_:_:)`` brings the row back first. An app that inserts the file again has
    /// changed its mind, and takes the deletion back.
    private static let refuseHeld = """
        CREATE TRIGGER lfs_file_refuse_held BEFORE INSERT ON lfs_file
        WHEN \(StateTable.isApplying()) AND EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id AND isHeld = 1)
        BEGIN SELECT RAISE(ABORT, '\(InsertRefusal.held.message)'); END
        """

    /// Refuses an `INSERT OR REPLACE` that gives a file other content. It changes a row as an update does, but fires no
    /// update trigger, and no delete trigger either unless `recursive_triggers` is on.
    private static let keepReplaced = """
        CREATE TRIGGER lfs_file_keep_replaced BEFORE INSERT ON lfs_file
        WHEN EXISTS (
            SELECT 1 FROM lfs_file WHERE id = NEW.id
            AND (key IS NOT NEW.key OR byteCount IS NOT NEW.byteCount OR sha256 IS NOT NEW.sha256))
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// Remembers, before an `INSERT OR REPLACE`, what the row that it replaces says of the upload. The app may have
    /// read its record before the upload ended, and no record has the proof. ``restoreReplaced`` puts both back.
    ///
    /// What an ignored insert has left is cleared by the next one, whatever its id.
    private static let noteReplaced = """
        CREATE TRIGGER lfs_file_note_replaced BEFORE INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_replaced) OR EXISTS (SELECT 1 FROM lfs_file WHERE id = NEW.id)
        BEGIN
            DELETE FROM lfs_replaced;
            INSERT INTO lfs_replaced (fileID, url, proof)
            SELECT id, url, proof FROM lfs_file WHERE id = NEW.id AND status = 'remote';
        END
        """

    /// Puts back, after an `INSERT OR REPLACE`, that the file is uploaded, where it is, and what proves it.
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
    /// made on another device, which uploads it. One of this database that a server gives back was here before, and its
    /// bytes are lost, as after a reset.
    ///
    /// This is what nearly every insert fires, so it decides before anything is written, and its `INSERT` has no
    /// `SELECT`, for which SQLite would make a temporary table each time.
    private static let enqueue = """
        CREATE TRIGGER lfs_file_enqueue AFTER INSERT ON lfs_file
        WHEN NEW.status = 'local' AND \(StateTable.isOurs("NEW.key")) AND NOT \(StateTable.isApplying())
            AND NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id)
            AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id)
            AND NOT \(JobTable.contains("NEW.id"))
            -- A trigger that ran before may have put back that the file is uploaded.
            AND EXISTS (SELECT 1 FROM lfs_file WHERE id = NEW.id AND status = 'local')
        BEGIN
            INSERT INTO lfs_job (\(newJob.columns)) VALUES (\(newJob.values));
        END
        """

    private static let newJob = JobTable.insertion(of: "NEW", now: now)

    /// Gives a file that was deleted and is inserted again, before its bytes have begun to go, what its tombstone has
    /// kept: its pin, and its job. That holds as well for an `INSERT OR REPLACE` with `recursive_triggers`, which
    /// deletes the row and inserts it again.
    ///
    /// A `local` row of this database gets a job anew when the tombstone has kept none, unless that says that the row
    /// had none: it was held, or a server gives it back.
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

    // MARK: It changes

    /// Gives a row a new `updateID`: UUID version 7 (RFC 9562, section 5.7) whose first 60 bits never go back within
    /// a database, with a counter in `rand_a` (section 6.2, method 1). Writers take turns, so ids ascend in the order
    /// of the commits, and a reader that remembers the last one it saw misses no change.
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

    /// Gives a changed row its `updateID`, unless the update sets one, as this trigger does itself. Changes that came
    /// from a server are stamped as well: the ids ascend in the order of this database's commits, not of the server's.
    private static let stampUpdate = """
        CREATE TRIGGER lfs_file_stamp_update AFTER UPDATE ON lfs_file WHEN NEW.updateID IS OLD.updateID
        BEGIN \(stamp) END
        """

    /// Refuses an update that gives a file other content or another id.
    private static let keepContent = """
        CREATE TRIGGER lfs_file_keep_content BEFORE UPDATE OF id, key, byteCount, sha256 ON lfs_file
        WHEN NEW.id IS NOT OLD.id OR NEW.key IS NOT OLD.key
            OR NEW.byteCount IS NOT OLD.byteCount OR NEW.sha256 IS NOT OLD.sha256
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// Takes back that a file is `local` when it is `remote`: the app has saved a record that it read before the
    /// upload.
    private static let keepRemote = """
        CREATE TRIGGER lfs_file_keep_remote AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'remote' AND NEW.status = 'local'
        BEGIN UPDATE lfs_file SET status = 'remote', url = OLD.url WHERE id = NEW.id; END
        """

    /// Drops the job of a file of which a server says that it is on the storage: this device has said so itself, before
    /// an older copy of the database was put back. One that has sent parts stays, and finds the object; and so do notes
    /// of what is wrong with the object, since ``keepRemote`` and ``restoreReplaced`` fire this trigger, too.
    private static let settleReceived = """
        CREATE TRIGGER lfs_file_settle_received AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'local' AND NEW.status = 'remote' AND \(StateTable.isApplying())
        BEGIN
            DELETE FROM lfs_job WHERE fileID = NEW.id AND checkpoint IS NULL AND replacesObject = 0
                AND errorCode IS NOT '\(JobTable.lostCode)';
        END
        """

    // MARK: It goes

    /// Notes that the bytes have to go as well, here and on the storage. The tombstone keeps the pin and the state of
    /// the job, in case the file is inserted again before that has begun. Of a `local` file that an app inserts again
    /// the upload is queued anew, so its job is not kept.
    ///
    /// A deletion that came from a server leaves the object: others may have the file still, and who deleted it removes
    /// the object. But of a file that only this device could upload, nobody has been told of an object; there may be
    /// parts, or an object that an upload under way still makes, and nobody else would remove them.
    ///
    /// A deletion that is held keeps the row.
    private static let addTombstone = """
        CREATE TRIGGER lfs_file_deleted AFTER DELETE ON lfs_file
        BEGIN
            INSERT INTO lfs_tombstone (
                fileID, key, removesObject, checkpoint, jobState, jobErrorCode, jobErrorMessage, jobReplacesObject,
                isPinned)
            SELECT OLD.id, OLD.key,
                NOT \(StateTable.isApplying())
                    OR OLD.status = 'local' AND \(StateTable.isOnlyHere("OLD.id", "OLD.key")),
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

    /// Removes the note that an owner has let go of the file: it is deleted already.
    private static let forget = """
        CREATE TRIGGER lfs_file_forget AFTER DELETE ON lfs_file
        BEGIN DELETE FROM lfs_disowned WHERE fileID = OLD.id; END
        """
}

/// What a trigger says when it refuses an insert.
package enum InsertRefusal: CaseIterable, Sendable {
    /// The bytes of the file are nowhere.
    case noBytes
    /// The file was deleted, and its bytes have begun to go.
    case removed
    /// The file was deleted here, and the server has not answered yet.
    case held

    /// The text that SQLite carries; literal, because RAISE takes no expression.
    package var message: String {
        switch self {
        case .noBytes:
            "LFS: the bytes of this file are nowhere on this device. Insert what makeFile returned, once it returned."
        case .removed:
            "LFS: this file was deleted and its bytes are being removed. Make a new FileData instead."
        case .held:
            "LFS: this file was deleted here and the server has not answered yet. Apply its row after the answer."
        }
    }
}
