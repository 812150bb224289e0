import GRDB
import LFS

/// A reason why attempted uploads are pending, with their number.
struct UploadReason: Encodable, Sendable {
    var code: String?
    var reason: String
    var files: Int

    /// Returns the reasons, the most frequent first.
    ///
    /// - Throws: the database's error.
    static func ofWaiting(_ db: Database) throws -> [UploadReason] {
        let reason = Upload.Columns.errorMessage
        let request = Upload.all().queued().filter(reason != nil)
            .select(Upload.Columns.errorCode, reason, count(Column.rowID)).group(Upload.Columns.errorCode, reason)
            .order(count(Column.rowID).desc, reason).limit(100)
        return try Row.fetchAll(db, request).map { row in
            UploadReason(
                code: String.fromDatabaseValue(row[0]),
                reason: String.fromDatabaseValue(row[1]) ?? "for an unknown reason",
                files: Int.fromDatabaseValue(row[2]) ?? 0)
        }
    }
}
