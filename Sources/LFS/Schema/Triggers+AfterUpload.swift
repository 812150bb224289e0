import LFSTransfer

/// Those of the second version of the schema.
///
/// No conflict clause stands in them: that of the statement which fires a trigger would be used in its place
/// (lang_createtrigger.html), so that `INSERT OR REPLACE` by the host would replace our rows as well.
extension Triggers {
    static let afterUpload = [enqueueOnce, deletedOnce, keepReplaced, noteReplaced, restoreReplaced, forget]

    /// Triggers of the first version that end with the second one, or are made anew.
    ///
    /// `lfs_file_uploaded` took the job of every row that became `remote`. Now a `remote` row may have one: an upload that
    /// has to be done again, or the note that its bytes are lost. An app that saves such a row must not end that, also not
    /// by a record from before the upload, so whoever records an upload ends its job.
    static let dropped = ["lfs_file_enqueue", "lfs_file_deleted", "lfs_file_uploaded"]

    /// Also for what comes back from deletion, `INSERT OR REPLACE` under `recursive_triggers` included: a job that a
    /// `remote` row had, and its pin.
    private static let enqueueOnce = """
        CREATE TRIGGER lfs_file_enqueue AFTER INSERT ON lfs_file
        BEGIN
            INSERT INTO lfs_job (fileID, lane, byteCount, notBefore, checkpoint, state, errorCode, replacesObject)
            SELECT f.id, f.byteCount >= \(TransferLane.largeByteCount), f.byteCount, \(now),
                t.checkpoint, coalesce(t.jobState, 'queued'), t.jobErrorCode, coalesce(t.jobReplacesObject, 0)
            FROM lfs_file f LEFT JOIN lfs_tombstone t ON t.fileID = f.id
            WHERE f.id = NEW.id AND substr(f.key, 1, 33) = (SELECT namespace || '/' FROM lfs_state)
                AND (t.jobState IS NOT NULL
                    OR f.status = 'local' AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = f.id))
                AND NOT EXISTS (SELECT 1 FROM lfs_job WHERE fileID = f.id);
            INSERT INTO lfs_copy (fileID, isPinned) SELECT fileID, 1 FROM lfs_tombstone
            WHERE fileID = NEW.id AND isPinned = 1 AND NOT EXISTS (SELECT 1 FROM lfs_copy WHERE fileID = NEW.id);
            DELETE FROM lfs_tombstone WHERE fileID = NEW.id;
        END
        """

    private static let deletedOnce = """
        CREATE TRIGGER lfs_file_deleted AFTER DELETE ON lfs_file
        BEGIN
            INSERT INTO lfs_tombstone (
                fileID, key, checkpoint, jobState, jobErrorCode, jobReplacesObject, isPinned)
            SELECT OLD.id, OLD.key, j.checkpoint, CASE OLD.status WHEN 'remote' THEN j.state END,
                CASE OLD.status WHEN 'remote' THEN j.errorCode END, coalesce(j.replacesObject, 0),
                EXISTS (SELECT 1 FROM lfs_copy WHERE fileID = OLD.id AND isPinned = 1)
            FROM (SELECT 1) LEFT JOIN lfs_job j ON j.fileID = OLD.id
            WHERE NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = OLD.id);
            DELETE FROM lfs_job WHERE fileID = OLD.id;
            DELETE FROM lfs_copy WHERE fileID = OLD.id;
        END
        """

    /// `INSERT OR REPLACE` is an update in disguise, and fires no delete trigger unless `recursive_triggers` is on.
    private static let keepReplaced = """
        CREATE TRIGGER lfs_file_keep_replaced BEFORE INSERT ON lfs_file
        WHEN EXISTS (
            SELECT 1 FROM lfs_file WHERE id = NEW.id
            AND (key IS NOT NEW.key OR byteCount IS NOT NEW.byteCount OR sha256 IS NOT NEW.sha256))
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// A copy of the record that was read before the upload, inserted in its place, must not undo it, and no record knows
    /// the proof.
    private static let noteReplaced = """
        CREATE TRIGGER lfs_file_note_replaced BEFORE INSERT ON lfs_file
        BEGIN
            DELETE FROM lfs_replaced;
            INSERT INTO lfs_replaced (fileID, url, proof)
            SELECT id, url, proof FROM lfs_file WHERE id = NEW.id AND status = 'remote';
        END
        """

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

    private static let forget = """
        CREATE TRIGGER lfs_file_forget AFTER DELETE ON lfs_file
        BEGIN DELETE FROM lfs_disowned WHERE fileID = OLD.id; END
        """
}
