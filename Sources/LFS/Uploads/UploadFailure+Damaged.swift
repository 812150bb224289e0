public import GRDB
import LFSStorage

extension UploadFailure {
    /// The files whose bytes an upload or a verification has found lost, or not to be the recorded ones, and that are not
    /// queued again since. ``LFSManager/restore(_:from:onProgress:)`` takes right bytes for them.
    public static func damagedFiles(_ db: Database) throws -> Set<FileData.ID> {
        try Set(
            String.fetchAll(
                db, sql: "SELECT fileID FROM lfs_job WHERE state = 'failed' AND errorCode IN (?, ?)",
                arguments: [JobRow.lostCode, StorageError.Code.sourceChanged.rawValue]))
    }
}
