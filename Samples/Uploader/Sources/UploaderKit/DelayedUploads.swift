import Foundation
import GRDB

/// A summary of files whose upload has not been attempted yet because of the delay of their backup.
struct DelayedUploads: Sendable {
    let files: Int
    /// The time until the last of these uploads may start.
    let wait: Duration
    /// True if no other file waits for its upload.
    let isAll: Bool

    /// A message for people.
    var words: String {
        let time = Format.time(wait / .seconds(1))
        return files == 1
            ? "1 file will be uploaded in \(time), after the delay of its backup"
            : "\(Format.count(files)) files will be uploaded within \(time), after the delay of their backup"
    }

    /// The reason why another run ended without these uploads. It follows "it" in a sentence.
    var reason: String {
        "waits for the delay of a backup, which ends in \(Format.time(wait / .seconds(1)))"
    }

    /// The maximum delay of a backup is one day, in milliseconds. A later time results from a clock that was set back.
    private static let longestWait = 86_400_000

    /// - Returns: the delayed uploads, or nil if no file is delayed.
    /// - Throws: the database's error.
    static func find(at time: Date, _ db: Database) throws -> DelayedUploads? {
        let now = Int64(saturating: (time.timeIntervalSince1970 * 1_000).rounded(.towardZero))
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*), max(notBefore), (SELECT count(*) FROM lfs_job WHERE state = 'queued') FROM lfs_job
                WHERE state = 'queued' AND attempts = 0 AND errorCode IS NULL AND notBefore > ?1
                    AND notBefore <= ?1 + \(longestWait)
                """, arguments: [now])
        guard let row, let last = Int64.fromDatabaseValue(row[1]) else { return nil }
        let files: Int = row[0]
        return DelayedUploads(files: files, wait: .milliseconds(last - now), isAll: row[2] == files)
    }
}
