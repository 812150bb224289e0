import Foundation
import GRDB
import LFS

/// A reader of the documents in a database. For the database of another app, which has no documents, it returns the
/// files under their names.
struct DocumentTable: Sendable {
    /// True if the database belongs to the uploader.
    let isOurs: Bool
    /// An SQL condition on the files. All files by default.
    let filter: String

    init(isOurs: Bool) { self.init(isOurs: isOurs, filter: "1") }

    private init(isOurs: Bool, filter: String) { (self.isOurs, self.filter) = (isOurs, filter) }

    /// Files in the uploader's database without a document. Files of other devices may not have one yet. Replaced files
    /// are excluded.
    static let withoutDocument = DocumentTable(
        isOurs: false,
        filter: """
            NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                AND NOT EXISTS (SELECT 1 FROM uploader_replaced r WHERE r.fileId = f.id)
            """)

    /// Returns the page after a key, in the order of the keys. Other programs may have written any values as keys.
    /// Unusable rows are returned with their reason.
    func page(after last: DatabaseValue, limit: Int, _ db: Database) throws -> Page {
        try fetch("\(filter) AND \(key) > ? ORDER BY \(key) LIMIT \(limit)", arguments: [last], db)
    }

    /// Returns the rows with the given keys. See ``Name``.
    func page(of keys: ArraySlice<DatabaseValue>, _ db: Database) throws -> Page {
        let condition = "\(filter) AND \(key) IN (\(databaseQuestionMarks(count: keys.count))) ORDER BY \(key)"
        return try fetch(condition, arguments: StatementArguments(keys), db)
    }

    /// The names by which a person can refer to a file.
    struct Name {
        /// The document's id, or the file's id in a database without documents.
        let key: DatabaseValue
        /// The file's id. Other programs may have written any value.
        let fileKey: DatabaseValue
        /// Nil if the row has no usable path.
        let path: FilePath?

        /// True if this device created it. Files of another device may have the same path.
        let isOwn: Bool

        /// The file's id, or `?` if it is not text.
        var fileID: String { String.fromDatabaseValue(fileKey) ?? "?" }
    }

    /// Returns the paths of this device that are not valid UTF-8. A sync server only accepts text.
    static func pathsWithoutText(_ db: Database) throws -> [FilePath] {
        let sql = """
            SELECT d.path FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
            WHERE d.path >= x'' AND \(isOwn) ORDER BY d.path
            """
        return try Row.fetchAll(db, sql: sql).compactMap { FilePath.fromDatabaseValue($0[0]) }
    }

    /// Calls a closure for all names, in the order of their keys.
    func forEachName(_ db: Database, _ body: (Name) throws -> Void) throws {
        let sql =
            isOurs
            ? "SELECT d.id, d.fileId, d.path, \(Self.isOwn) FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId"
            : "SELECT f.id, f.id, \(Self.name), \(Self.isOwn) FROM lfs_file f"
        let rows = try Row.fetchCursor(db, sql: "\(sql) WHERE \(filter) ORDER BY 1")
        while let row = try rows.next() {
            let path = FilePath.fromDatabaseValue(row[2])
            try body(
                Name(
                    key: row[0], fileKey: row[1],
                    path: isOurs ? path : path?.text.map { FilePath(Self.title($0)) },
                    isOwn: Bool.fromDatabaseValue(row[3]) ?? false))
        }
    }

    /// A page of rows.
    struct Page: Sendable {
        var documents: [AttachedDocument] = []
        var unusable: [UnusableRow] = []
        /// The last id of the page. Nil at the end.
        var end: DatabaseValue?

        mutating func add(_ result: Result<AttachedDocument, UnusableRow>) {
            switch result {
            case .success(let document): documents.append(document)
            case .failure(let row): unusable.append(row)
            }
        }
    }

    /// Returns a request for the files of the documents in a folder, at any depth.
    ///
    /// - Parameter folder: an absolute path. A file is its own folder.
    static func files(in folder: String) -> QueryInterfaceRequest<FileData> {
        let path = FilePath(folder).absolute(from: "/")
        let (condition, arguments) = below(path.appending([]))
        return FileData.filter(
            sql: "id IN (SELECT d.fileId FROM uploader_document d WHERE d.path = ? OR \(condition))",
            arguments: [path] + arguments)
    }

    /// Returns an SQL condition for the documents `d` in a folder, at any depth.
    ///
    /// - Parameter folder: the path of the folder, with a slash at its end.
    private static func below(_ folder: FilePath) -> (condition: String, arguments: StatementArguments) {
        // The upper bound ends with the character after the slash, so the range contains everything in the folder.
        // Paths that are not text are blobs.
        let end = FilePath(bytes: folder.bytes.dropLast() + [UInt8(ascii: "0")])
        let condition = "d.path >= ? AND d.path < ?"
        let arguments: StatementArguments = [Data(folder.bytes), Data(end.bytes)]
        guard let text = folder.text, let textEnd = end.text else { return (condition, arguments) }
        return ("(\(condition) OR \(condition))", arguments + [text, textEnd])
    }

    /// Returns the documents of this device at some paths. If several documents have the same path, the newest one,
    /// which comes last, is returned.
    ///
    /// - Parameter prefix: the prefix of the keys of this device's files. Files of another device may have the same
    ///   path.
    func documents(at paths: [FilePath], ofKeys prefix: String, _ db: Database) throws -> [FilePath: Result<
        AttachedDocument, UnusableRow
    >] {
        let marks = databaseQuestionMarks(count: paths.count)
        var found: [FilePath: Result<AttachedDocument, UnusableRow>] = [:]
        let condition = "d.path IN (\(marks)) AND substr(f.key, 1, ?) = ? ORDER BY d.id"
        let arguments = StatementArguments(paths) + [prefix.count, prefix]
        // Each attached file runs this query. The closure runs no other query, so the statement can be shared.
        let statement = try db.cachedStatement(sql: "\(select) WHERE \(condition)")
        try forEach(statement, arguments: arguments) { row, result in
            if let path = FilePath.fromDatabaseValue(row["path"]) { found[path] = result }
        }
        return found
    }

    /// Returns the file ids of the documents at some paths with a single query. Omits unusable documents, and paths
    /// with several documents, which may belong to other devices.
    func fileIDs(at paths: [FilePath], _ db: Database) throws -> [FilePath: FileData.ID] {
        if paths.isEmpty { return [:] }
        // Hundreds of paths are in each of many statements.
        let marks = String(repeating: "?,", count: paths.count - 1) + "?"
        let sql = """
            SELECT path, fileId, typeof(id) = 'text' AND typeof(title) = 'text' AND typeof(stamp) = 'text'
            FROM uploader_document WHERE path IN (\(marks))
            """
        let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: StatementArguments(paths))
        var found: [FilePath: FileData.ID?] = Dictionary(minimumCapacity: paths.count)
        while let row = try rows.next() {
            guard let path = FilePath.fromDatabaseValue(row[0]) else { continue }
            let id = row[2] ? FileID(stored: row[1]) : nil
            found[path] = .some(found[path] == nil ? id : nil)
        }
        return found.compactMapValues { $0 }
    }

    /// Returns the number of documents.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_document") ?? 0
    }

    /// Returns the number of files that this device has pushed from a folder, without those whose originals were moved.
    ///
    /// - Parameter folder: the path with a trailing slash.
    static func count(below folder: FilePath, _ db: Database) throws -> Int {
        let (condition, arguments) = below(folder)
        let sql = """
            SELECT count(*) FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
            WHERE \(condition) AND \(isOwn) AND NOT EXISTS (SELECT 1 FROM uploader_moved m WHERE m.documentId = d.id)
            """
        return try Int.fetchOne(db, sql: sql, arguments: arguments) ?? 0
    }

    /// Calls a closure for all documents, in the order of their paths.
    func forEach(_ db: Database, _ body: (Result<AttachedDocument, UnusableRow>) throws -> Void) throws {
        let order = isOurs ? "d.path" : "f.name"
        let statement = try db.makeStatement(sql: "\(select) WHERE \(filter) ORDER BY \(order), \(key)")
        try forEach(statement, arguments: []) { _, result in try body(result) }
    }

    /// Returns the path of a file, even of a replaced one, or nil if it has no path.
    func path(of id: FileData.ID, _ db: Database) throws -> FilePath? {
        guard isOurs else {
            return try String.fetchOne(db, sql: "SELECT name FROM lfs_file WHERE id = ?", arguments: [id])
                .map(FilePath.init(_:))
        }
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT path FROM uploader_document WHERE fileId = ?1
                    OR id IN (SELECT documentId FROM uploader_replaced WHERE fileId = ?1)
                """, arguments: [id])
        return row.flatMap { FilePath.fromDatabaseValue($0["path"]) }
    }

    /// Returns the paths of some files, without files that have no path.
    func paths(of ids: [FileData.ID], _ db: Database) throws -> [FileData.ID: FilePath] {
        try ids.reduce(into: [:]) { paths, id in paths[id] = try path(of: id, db) }
    }

    /// Calls a closure with the path and the title of each document, and true if this device created it. The order is
    /// undefined.
    static func forEachTitle(_ db: Database, _ body: (FilePath, String, Bool) throws -> Void) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT d.path, d.title, \(isOwn) FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId")
        while let row = try rows.next() {
            guard let path = FilePath.fromDatabaseValue(row[0]), let title = String.fromDatabaseValue(row[1]) else {
                continue
            }
            try body(path, title, Bool.fromDatabaseValue(row[2]) ?? false)
        }
    }

    // MARK: Rows

    static let isOwn = "substr(f.key, 1, 33) = (SELECT namespace || '/' FROM lfs_state)"
    static let name = "coalesce(nullif(f.name, ''), f.id)"

    /// Returns the prefix of the keys of this device's files.
    static func ownKeys(_ db: Database) throws -> String {
        try String.fetchOne(db, sql: "SELECT namespace || '/' FROM lfs_state") ?? "/"
    }

    private var key: String { isOurs ? "d.id" : "f.id" }

    private var select: String {
        isOurs
            ? """
            SELECT d.id, d.path, d.title, d.addedAt, d.fileId, d.stamp, f.*
            FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
            """
            : """
            SELECT f.id, \(Self.name) AS path, \(Self.name) AS title, f.createdAt AS addedAt, f.id AS fileId,
                '' AS stamp, f.*
            FROM lfs_file f
            """
    }

    private func fetch(_ condition: String, arguments: StatementArguments, _ db: Database) throws -> Page {
        var page = Page()
        let statement = try db.makeStatement(sql: "\(select) WHERE \(condition)")
        try forEach(statement, arguments: arguments) { row, result in
            page.end = row[0]
            page.add(result)
        }
        return page
    }

    private func forEach(
        _ statement: Statement, arguments: StatementArguments,
        _ body: (Row, Result<AttachedDocument, UnusableRow>) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(statement, arguments: arguments, adapter: AttachedDocument.adapter)
        while let row = try rows.next() { try body(row, decode(row)) }
    }

    private func decode(_ row: Row) -> Result<AttachedDocument, UnusableRow> {
        let result = AttachedDocument.decode(row)
        guard !isOurs, case .success(var attached) = result else { return result }
        attached.document.title = Self.title(attached.document.title)
        if [".", ".."].contains(attached.document.title) { attached.document.title = attached.file.id.uuidString }
        attached.document.path = FilePath(attached.document.title)
        return .success(attached)
    }

    /// Returns the name under which a file of another app is written. No part of it may lead to another folder.
    static func title(_ name: String) -> String { Printable.text(FilePath(name).lastComponent.exact) }
}
