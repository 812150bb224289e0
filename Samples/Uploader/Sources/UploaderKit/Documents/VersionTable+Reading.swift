import Foundation
import GRDB
import LFS

extension VersionTable {
    /// Calls a closure for the old versions in the order of their ids. If a document had the same version twice, only
    /// the newer one is passed.
    static func forEachName(_ db: Database, _ body: (NamedFile) throws -> Void) throws {
        guard try isThere(db) else { return }
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT max(r.id), r.fileId, d.path FROM uploader_replaced r
                JOIN uploader_document d ON d.id = r.documentId
                WHERE r.replacedAt IS NOT NULL GROUP BY r.documentId, r.fileId ORDER BY 1
                """)
        while let row = try rows.next() {
            let name = DocumentTable.Name(
                key: row[0], fileKey: row[1], path: FilePath.fromDatabaseValue(row[2]), isOwn: true)
            try body(NamedFile(name, kind: .version))
        }
    }

    /// Returns the versions with the given keys, as their documents were at that time.
    static func page(of keys: ArraySlice<DatabaseValue>, _ db: Database) throws -> DocumentTable.Page {
        var page = DocumentTable.Page()
        let condition = "r.id IN (\(databaseQuestionMarks(count: keys.count))) ORDER BY r.id"
        try forEach(condition, arguments: StatementArguments(keys), db) { row, result in
            page.end = row[0]
            page.add(result)
        }
        return page
    }

    /// The state of a document at a time in the past.
    enum Past: Sendable {
        case version(Result<AttachedDocument, UnusableRow>)
        /// The document was not pushed yet.
        case notYet
        /// The version of that time is not kept.
        case notKept
    }

    /// - Parameters:
    ///   - current: the current version.
    ///   - time: the time. Only whole seconds are compared, as lists show them.
    static func past(of current: AttachedDocument, at time: Date, _ db: Database) throws -> Past {
        let seconds = time.timeIntervalSince1970.rounded(.down)
        func isThere(_ document: Document) -> Bool {
            document.addedAt.timeIntervalSince1970.rounded(.down) <= seconds
        }
        var found: Result<AttachedDocument, UnusableRow>?
        if try self.isThere(db) {
            let condition = """
                r.documentId = ? AND r.replacedAt >= ? ORDER BY r.replacedAt, r.id LIMIT 1
                """
            try forEach(condition, arguments: [current.document.id, seconds + 1], db) { _, result in found = result }
        }
        switch found {
        case nil where isThere(current.document): return .version(.success(current))
        case .success(let version)? where isThere(version.document): return .version(.success(version))
        case .failure(let row)?: return .version(.failure(row))
        default: break
        }
        // The id contains the time of the first push.
        let first = DocumentID.time(of: current.document.id)
        return first.map { $0.timeIntervalSince1970.rounded(.down) > seconds } ?? false ? .notYet : .notKept
    }

    private static func forEach(
        _ condition: String, arguments: StatementArguments, _ db: Database,
        _ body: (Row, Result<AttachedDocument, UnusableRow>) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT d.id, d.path, d.title, r.addedAt, r.fileId, r.stamp, f.*
                FROM uploader_replaced r JOIN uploader_document d ON d.id = r.documentId
                JOIN lfs_file f ON f.id = r.fileId WHERE \(condition)
                """, arguments: arguments, adapter: AttachedDocument.adapter)
        while let row = try rows.next() {
            try body(row, AttachedDocument.decode(row))
        }
    }

    // MARK: Figures

    /// Returns the number of versions, and the bytes that only they use.
    static func totals(_ db: Database) throws -> Removed {
        let versions = try Int.fetchOne(
            db, sql: "SELECT count(*) FROM uploader_replaced WHERE replacedAt IS NOT NULL")
        let bytes = try Double.fetchOne(
            db,
            sql: """
                SELECT total(f.byteCount) FROM lfs_file f
                WHERE f.id IN (SELECT fileId FROM uploader_replaced WHERE replacedAt IS NOT NULL)
                    AND NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                """)
        return Removed(versions: versions ?? 0, bytes: Int64(saturating: max(bytes ?? 0, 0)))
    }

    /// Returns the number of versions of a document.
    static func count(of document: DatabaseValue, _ db: Database) throws -> Int {
        guard try isThere(db) else { return 0 }
        let sql = "SELECT count(*) FROM uploader_replaced WHERE documentId = ? AND replacedAt IS NOT NULL"
        return try Int.fetchOne(db, sql: sql, arguments: [document]) ?? 0
    }

    /// Returns true if a file is an old version and no document uses it.
    static func isVersion(_ id: FileData.ID, _ db: Database) throws -> Bool {
        guard try isThere(db) else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM uploader_replaced WHERE fileId = ?1)
                    AND NOT EXISTS (SELECT 1 FROM uploader_document WHERE fileId = ?1)
                """, arguments: [id]) ?? false
    }

    /// Returns what to do about a failed old version that no document uses. Nil for any other file.
    static func advice(on id: FileData.ID, _ db: Database) throws -> String? {
        guard try isVersion(id, db) else { return nil }
        let sql = "SELECT max(replacedAt) FROM uploader_replaced WHERE fileId = ?"
        let replaced = try Row.fetchOne(db, sql: sql, arguments: [id]).flatMap { time($0[0]) }
        let date = replaced.map { ", replaced \(ListCommand.time($0))" } ?? ""
        return """
            It is an old version\(date). Copy its object from the former storage, or remove this version with \
            'uploader remove' and its id \(id).
            """
    }

    /// Returns the versions that would be removed, without removing them.
    static func preview(_ settled: Settled, _ db: Database) throws -> Removed {
        let (source, arguments) = settled.source
        let row = try Row.fetchOne(
            db,
            sql: """
                WITH gone AS MATERIALIZED (SELECT r.id, r.fileId \(source))
                SELECT (SELECT count(*) FROM gone), (
                    SELECT total(f.byteCount) FROM lfs_file f WHERE f.id IN (SELECT fileId FROM gone)
                        AND NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                        AND NOT EXISTS (
                            SELECT 1 FROM uploader_replaced r
                            WHERE r.fileId = f.id AND r.id NOT IN (SELECT id FROM gone)
                        )
                )
                """, arguments: arguments)
        guard let row else { return Removed() }
        let bytes = Double.fromDatabaseValue(row[1]) ?? 0
        return Removed(
            versions: Int.fromDatabaseValue(row[0]) ?? 0, bytes: Int64(saturating: max(bytes, 0)))
    }
}
