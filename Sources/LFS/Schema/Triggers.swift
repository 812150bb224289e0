import LFSTransfer

/// The rules that hold whoever writes: the record API, raw SQL, a cascade, another process.
enum Triggers {
    static let all = [
        stampInsert, stampUpdate, keepContent, keepRemote, refuseRemoved, enqueue, uploaded, deleted,
    ]

    /// Now in milliseconds since 1970; SQLite before 3.42 has no `unixepoch('subsec')`.
    static let now = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)"

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
            SELECT printf('%08x-%04x-7%03x-', updateMillisecond >> 16, updateMillisecond & 65535, updateSequence)
                || substr('89ab', 1 + (random() & 3), 1) || substr(lower(hex(randomblob(2))), 1, 3)
                || '-' || lower(hex(randomblob(6)))
            FROM lfs_state) WHERE id = NEW.id;
        """

    private static let stampInsert = """
        CREATE TRIGGER lfs_file_stamp_insert AFTER INSERT ON lfs_file WHEN NEW.updateID = ''
        BEGIN \(stamp) END
        """

    /// An update that brings an `updateID` of its own keeps it, as a change that another device made does.
    private static let stampUpdate = """
        CREATE TRIGGER lfs_file_stamp_update AFTER UPDATE ON lfs_file WHEN NEW.updateID IS OLD.updateID
        BEGIN \(stamp) END
        """

    private static let keepContent = """
        CREATE TRIGGER lfs_file_keep_content BEFORE UPDATE OF id, key, byteCount, sha256 ON lfs_file
        WHEN NEW.id IS NOT OLD.id OR NEW.key IS NOT OLD.key
            OR NEW.byteCount IS NOT OLD.byteCount OR NEW.sha256 IS NOT OLD.sha256
        BEGIN SELECT RAISE(ABORT, 'LFS: the content of a file never changes. Make a new FileData instead.'); END
        """

    /// A copy of the record that was read before the upload, saved afterwards, must not undo it.
    private static let keepRemote = """
        CREATE TRIGGER lfs_file_keep_remote AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'remote' AND NEW.status = 'local'
        BEGIN UPDATE lfs_file SET status = 'remote', url = OLD.url WHERE id = NEW.id; END
        """

    /// Ids are not used again once their bytes have begun to go.
    private static let refuseRemoved = """
        CREATE TRIGGER lfs_file_refuse_removed BEFORE INSERT ON lfs_file
        WHEN EXISTS (SELECT 1 FROM lfs_tombstone WHERE fileID = NEW.id AND state = 'removing')
        BEGIN SELECT RAISE(ABORT, '\(InsertError.removed.message)'); END
        """

    /// The job is born with the row. A row with another database's key came from another device: its bytes are there.
    private static let enqueue = """
        CREATE TRIGGER lfs_file_enqueue AFTER INSERT ON lfs_file
        BEGIN
            DELETE FROM lfs_tombstone WHERE fileID = NEW.id;
            INSERT OR IGNORE INTO lfs_job (fileID, lane, byteCount, notBefore)
            SELECT NEW.id, NEW.byteCount >= \(TransferLane.largeByteCount), NEW.byteCount, \(now)
            FROM lfs_state WHERE NEW.status = 'local' AND substr(NEW.key, 1, 33) = namespace || '/';
        END
        """

    private static let uploaded = """
        CREATE TRIGGER lfs_file_uploaded AFTER UPDATE OF status ON lfs_file WHEN NEW.status = 'remote'
        BEGIN DELETE FROM lfs_job WHERE fileID = NEW.id; END
        """

    private static let deleted = """
        CREATE TRIGGER lfs_file_deleted AFTER DELETE ON lfs_file
        BEGIN
            INSERT OR IGNORE INTO lfs_tombstone (fileID, key, checkpoint)
            VALUES (OLD.id, OLD.key, (SELECT checkpoint FROM lfs_job WHERE fileID = OLD.id));
            DELETE FROM lfs_job WHERE fileID = OLD.id;
        END
        """
}

/// What a trigger says when it refuses an insert.
enum InsertError: String, CaseIterable {
    case noBytes
    case removed

    /// The text that SQLite carries; literal, because RAISE takes no expression.
    var message: String {
        switch self {
        case .noBytes:
            "LFS: the bytes of this file are nowhere on this device. Insert what makeFile returned, once it returned."
        case .removed:
            "LFS: this file was deleted and its bytes are being removed. Make a new FileData instead."
        }
    }
}
