import Foundation
import GRDB
import LFS

/// A reader for `list --versions`. It returns the current version of each file, followed by its old versions, the
/// newest first.
struct VersionList: Sendable {
    /// A line of the list.
    struct Line: Sendable {
        var id: FileID
        var path: FilePath
        var isRemote: Bool
        var byteCount: Int64
        var url: String?
        var added: Date?
        /// True for an old version.
        var isOld: Bool
        /// The time of the replacement. Nil for the current version, and for an invalid time.
        var replaced: Date?
        /// The earliest time of removal. Nil for never. The version stays longer if runs are rare. See VersionClock.
        var keptUntil: Date?
    }

    /// The time for which versions are kept.
    let choice: KeepVersions

    /// - Parameter documents: the documents to list. Nil for all.
    func forEach(
        _ documents: Set<DatabaseValue>?, _ db: Database, _ body: (Result<Line, UnusableRow>) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(db, sql: Self.sql)
        while let row = try rows.next() {
            if let documents, !documents.contains(row[0]) { continue }
            try body(line(row))
        }
    }

    /// Returns the documents of old versions.
    static func documents(of versions: [NamedFile], _ db: Database) throws -> [DatabaseValue] {
        try versions.compactMap { version in
            try Row.fetchOne(
                db, sql: "SELECT documentId FROM uploader_replaced WHERE id = ?", arguments: [version.key]
            )
            .map { $0[0] }
        }
    }

    private static let sql = """
        SELECT d.id, d.path, d.addedAt, f.id, f.status, f.byteCount, f.url, NULL, 0, 0
        FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
        UNION ALL
        SELECT d.id, d.path, r.addedAt, f.id, f.status, f.byteCount, f.url, r.replacedAt, 1, r.id
        FROM uploader_replaced r JOIN uploader_document d ON d.id = r.documentId JOIN lfs_file f ON f.id = r.fileId
        WHERE r.replacedAt IS NOT NULL
        ORDER BY 2, 1, 9, 10 DESC
        """

    private func line(_ row: Row) -> Result<Line, UnusableRow> {
        func unusable(_ column: String) -> Result<Line, UnusableRow> {
            let id = String.fromDatabaseValue(row[3]) ?? "?"
            return .failure(
                UnusableRow(fileID: id, reason: "its row has no usable \(column): another program wrote it"))
        }
        guard let id = FileID(stored: row[3]) else { return unusable("id") }
        guard let path = FilePath.fromDatabaseValue(row[1]) else { return unusable("path") }
        guard let text = String.fromDatabaseValue(row[4]), let status = FileData.Status(rawValue: text) else {
            return unusable("status")
        }
        guard case .int64(let byteCount) = (row[5] as DatabaseValue).storage, byteCount >= 0 else {
            return unusable("byteCount")
        }
        let isOld = Bool.fromDatabaseValue(row[8]) ?? false
        let replaced = VersionTable.time(row[7])
        return .success(
            Line(
                id: id, path: path, isRemote: status == .remote, byteCount: byteCount,
                url: String.fromDatabaseValue(row[6]), added: Date.fromDatabaseValue(row[2]), isOld: isOld,
                replaced: replaced, keptUntil: choice.seconds.flatMap { replaced?.addingTimeInterval($0) }))
    }
}
