import Foundation
import GRDB

/// Files that no one has tried to upload yet, because their backup lets them wait.
struct DelayedUploads: Sendable {
    let files: Int
    /// How long until the last of them may begin.
    let wait: Duration
    /// Whether nothing else waits for its upload.
    let isAll: Bool

    /// For people.
    var words: String {
        let time = Format.time(wait / .seconds(1))
        return files == 1
            ? "1 file is uploaded in \(time): its backup lets it wait"
            : "\(Format.count(files)) files wait up to \(time) before they are uploaded, as their backup says"
    }

    /// Why a run that is not their backup has ended without them, after "it".
    var reason: String {
        "waits for the delay of a backup, which is over in \(Format.time(wait / .seconds(1)))"
    }

    /// A backup lets them wait for a day at most; whatever lies beyond comes from a clock that was put back.
    private static let longestWait = 86_400_000

    /// - Returns: nil when there are none.
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
