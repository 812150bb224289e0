import Foundation
import GRDB

/// What reading an object has shown of it, durable in the file's rows.
extension BackgroundRunner {
    /// Notes that right bytes were read from a file's object: it is proven, and neither lost nor damaged.
    ///
    /// Of a row that is not `remote` a note of a loss stays: its object has to be made first, as a repair does.
    func noteRightBytes(of id: FileData.ID) async throws {
        // Nearly no file needs it, and a look costs the writer nothing.
        let isKnown = try await readThroughCancellation { db in
            let sql = """
                SELECT NOT EXISTS (SELECT 1 \(Self.noteOfLoss)) AND NOT EXISTS (
                    SELECT 1 FROM lfs_file WHERE id = ?1 AND status = 'remote' AND proof IS NOT 'checksum')
                """
            return try Bool.fetchOne(db, sql: sql, arguments: [id, JobRow.lostCode])
        }
        if isKnown == true { return }
        try await write { db in
            try db.execute(sql: "DELETE \(Self.noteOfLoss)", arguments: [id, JobRow.lostCode])
            try db.execute(
                sql: """
                    UPDATE lfs_file SET proof = 'checksum'
                    WHERE id = ? AND status = 'remote' AND proof IS NOT 'checksum'
                    """,
                arguments: [id])
        }
    }

    /// Notes that other bytes than the file's were read from its object, or none: its local bytes stay from now on, and
    /// verifications tell it, until right ones are proven.
    func noteDamage(of id: FileData.ID, _ reason: String, at time: Date) async throws {
        try await write { db in
            try db.execute(
                sql: """
                    INSERT INTO lfs_job (
                        fileID, state, lane, byteCount, notBefore, errorCode, errorMessage, replacesObject)
                    SELECT id, 'failed', byteCount >= ?3, byteCount, ?2, ?4, ?5, 1 FROM lfs_file
                    WHERE id = ?1 AND status = 'remote'
                    ON CONFLICT (fileID) DO UPDATE SET replacesObject = 1,
                        errorCode = CASE WHEN state = 'failed' AND errorCode IS NOT ?6 THEN ?4 ELSE errorCode END,
                        errorMessage = CASE state WHEN 'failed' THEN ?5 ELSE errorMessage END
                    """,
                arguments: [
                    id, time.millisecondsSince1970, JobRow.largeByteCount, JobRow.damagedCode, reason, JobRow.lostCode,
                ])
        }
    }

    /// Arguments: file, the code of a loss.
    private static let noteOfLoss = """
        FROM lfs_job WHERE fileID = ?1 AND state = 'failed' AND (errorCode = ?2 OR replacesObject = 1)
            AND EXISTS (SELECT 1 FROM lfs_file WHERE id = ?1 AND status = 'remote')
        """
}
