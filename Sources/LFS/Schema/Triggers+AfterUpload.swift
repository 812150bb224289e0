import LFSTransfer

/// Those of the second version of the schema.
///
/// No conflict clause stands in them: that of the statement which fires a trigger would be used in its place
/// (lang_createtrigger.html), so that `INSERT OR REPLACE` by the host would replace our rows as well.
extension Triggers {
    static let afterUpload = [keepReplaced, noteReplaced, restoreReplaced, forget]

    /// Triggers of the first version that the second one makes anew.
    static let replaced = [("lfs_file_enqueue", enqueueOnce), ("lfs_file_deleted", deletedOnce)]
        .map { (name: $0.0, sql: $0.1) }

    private static let enqueueOnce = """
        CREATE TRIGGER lfs_file_enqueue AFTER INSERT ON lfs_file
        BEGIN
            DELETE FROM lfs_tombstone WHERE fileID = NEW.id;
            INSERT INTO lfs_job (fileID, lane, byteCount, notBefore)
            SELECT id, byteCount >= \(TransferLane.largeByteCount), byteCount, \(now) FROM lfs_file
            WHERE id = NEW.id AND status = 'local'
                AND substr(key, 1, 33) = (SELECT namespace || '/' FROM lfs_state)
                AND NOT EXISTS (SELECT 1 FROM lfs_job WHERE fileID = NEW.id)
                AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id);
        END
        """

    private static let deletedOnce = """
        CREATE TRIGGER lfs_file_deleted AFTER DELETE ON lfs_file
        BEGIN
            INSERT INTO lfs_tombstone (fileID, key, checkpoint)
            SELECT OLD.id, OLD.key, (SELECT checkpoint FROM lfs_job WHERE fileID = OLD.id)
            WHERE NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = OLD.id);
            DELETE FROM lfs_job WHERE fileID = OLD.id;
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

    /// A copy of the record that was read before the upload, inserted in its place, must not undo it.
    private static let noteReplaced = """
        CREATE TRIGGER lfs_file_note_replaced BEFORE INSERT ON lfs_file WHEN NEW.status = 'local'
        BEGIN
            DELETE FROM lfs_replaced WHERE fileID = NEW.id;
            INSERT INTO lfs_replaced (fileID, url)
            SELECT id, url FROM lfs_file WHERE id = NEW.id AND status = 'remote';
        END
        """

    private static let restoreReplaced = """
        CREATE TRIGGER lfs_file_restore_replaced AFTER INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id)
        BEGIN
            UPDATE lfs_file SET status = 'remote', url = (SELECT url FROM lfs_replaced WHERE fileID = NEW.id)
            WHERE id = NEW.id AND NEW.status = 'local';
            DELETE FROM lfs_replaced WHERE fileID = NEW.id;
        END
        """

    private static let forget = """
        CREATE TRIGGER lfs_file_forget AFTER DELETE ON lfs_file
        BEGIN
            DELETE FROM lfs_copy WHERE fileID = OLD.id;
            DELETE FROM lfs_disowned WHERE fileID = OLD.id;
        END
        """
}
