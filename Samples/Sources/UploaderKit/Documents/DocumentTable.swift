import Foundation
import GRDB
import LFS

/// Reads the documents of a database. That of another app has none: its files stand for them, under their names.
struct DocumentTable: Sendable {
    /// Whether the database is the uploader's.
    let isOurs: Bool
    /// Which of the files; all, unless said otherwise.
    let filter: String

    init(isOurs: Bool) { self.init(isOurs: isOurs, filter: "1") }

    private init(isOurs: Bool, filter: String) { (self.isOurs, self.filter) = (isOurs, filter) }

    /// Files of the uploader's database that have no document here: those of other devices may have none yet. What a
    /// newer version has replaced is none of them.
    static let withoutDocument = DocumentTable(
        isOurs: false,
        filter: """
            NOT EXISTS (SELECT 1 FROM uploader_document d WHERE d.fileId = f.id)
                AND NOT EXISTS (SELECT 1 FROM uploader_replaced r WHERE r.fileId = f.id)
            """)

    /// The page after a key, in the order of the keys, which other programs may have written as anything. Rows that
    /// cannot be used are told with their reason.
    func page(after last: DatabaseValue, limit: Int, _ db: Database) throws -> Page {
        try fetch("\(filter) AND \(key) > ? ORDER BY \(key) LIMIT \(limit)", [last], db)
    }

    /// Those with some keys: see ``Name``.
    func page(of keys: ArraySlice<DatabaseValue>, _ db: Database) throws -> Page {
        let condition = "\(filter) AND \(key) IN (\(databaseQuestionMarks(count: keys.count))) ORDER BY \(key)"
        return try fetch(condition, StatementArguments(keys), db)
    }

    /// What a person can name a file by.
    struct Name {
        /// The document's own id; the file's where there are no documents.
        let key: DatabaseValue
        /// The file's id, which other programs may have written as anything.
        let fileKey: DatabaseValue
        /// Nil when its row has none that can be used.
        let path: FilePath?

        /// Whether this device has made it: another one may have the same path.
        let isOwn: Bool

        /// The file's id, as far as it is text.
        var fileID: String { String.fromDatabaseValue(fileKey) ?? "?" }
    }

    /// Returns the paths of this device that are not UTF-8. A sync server takes text only.
    static func pathsWithoutText(_ db: Database) throws -> [FilePath] {
        let sql = """
            SELECT d.path FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
            WHERE d.path >= x'' AND \(isOwn) ORDER BY d.path
            """
        return try Row.fetchAll(db, sql: sql).compactMap { FilePath.fromDatabaseValue($0[0]) }
    }

    /// All of them, in the order of their keys.
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

    /// One page of rows.
    struct Page: Sendable {
        var documents: [AttachedDocument] = []
        var unusable: [UnusableRow] = []
        /// The last id of it, nil at the end.
        var end: DatabaseValue?

        mutating func add(_ result: Result<AttachedDocument, UnusableRow>) {
            switch result {
            case .success(let document): documents.append(document)
            case .failure(let row): unusable.append(row)
            }
        }
    }

    /// Those at some paths of this device. Of several with one path the newest counts, which is the last.
    ///
    /// - Parameter prefix: what the keys of this device's files begin with: another one may have the same path.
    func documents(at paths: [FilePath], ofKeys prefix: String, _ db: Database) throws -> [FilePath: Result<
        AttachedDocument, UnusableRow
    >] {
        let marks = databaseQuestionMarks(count: paths.count)
        var found: [FilePath: Result<AttachedDocument, UnusableRow>] = [:]
        let condition = "d.path IN (\(marks)) AND substr(f.key, 1, ?) = ? ORDER BY d.id"
        let arguments = StatementArguments(paths) + [prefix.count, prefix]
        try forEach(condition, arguments, db) { row, result in
            if let path = FilePath.fromDatabaseValue(row["path"]) { found[path] = result }
        }
        return found
    }

    /// The files of those at some paths, by a look-up alone: without those that another device may have made as well,
    /// or that cannot be used.
    func fileIDs(at paths: [FilePath], _ db: Database) throws -> [FilePath: FileData.ID] {
        if paths.isEmpty { return [:] }
        // There are hundreds of them in each of many statements.
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

    /// How many documents there are.
    static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM uploader_document") ?? 0
    }

    /// How many files of this device were pushed from a folder, without those whose originals were moved.
    ///
    /// - Parameter folder: with the slash behind its name.
    static func count(below folder: FilePath, _ db: Database) throws -> Int {
        // The slash's successor: all that begins with the folder lies between. What is no text is a blob.
        let end = FilePath(bytes: folder.bytes.dropLast() + [UInt8(ascii: "0")])
        let (first, last) = (Data(folder.bytes), Data(end.bytes))
        var condition = "d.path >= ?1 AND d.path < ?2"
        var arguments: StatementArguments = [first, last]
        if let text = folder.text, let end = end.text {
            condition = "(\(condition) OR d.path >= ?3 AND d.path < ?4)"
            arguments += [text, end]
        }
        let sql = """
            SELECT count(*) FROM uploader_document d JOIN lfs_file f ON f.id = d.fileId
            WHERE \(condition) AND \(isOwn) AND NOT EXISTS (SELECT 1 FROM uploader_moved m WHERE m.documentId = d.id)
            """
        return try Int.fetchOne(db, sql: sql, arguments: arguments) ?? 0
    }

    /// All of them, by their paths.
    func forEach(_ db: Database, _ body: (Result<AttachedDocument, UnusableRow>) throws -> Void) throws {
        try forEach("\(filter) ORDER BY \(isOurs ? "d.path" : "f.name"), \(key)", [], db) { _, result in
            try body(result)
        }
    }

    /// The path of a file, also of one that was replaced; nil when there is none.
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

    /// The paths of some files, without those that have none.
    func paths(of ids: [FileData.ID], _ db: Database) throws -> [FileData.ID: FilePath] {
        try ids.reduce(into: [:]) { paths, id in paths[id] = try path(of: id, db) }
    }

    /// The path and the title of each document, and whether this device has made it, in no order.
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

    private func fetch(_ condition: String, _ arguments: StatementArguments, _ db: Database) throws -> Page {
        var page = Page()
        try forEach(condition, arguments, db) { row, result in
            page.end = row[0]
            page.add(result)
        }
        return page
    }

    private func forEach(
        _ condition: String, _ arguments: StatementArguments, _ db: Database,
        _ body: (Row, Result<AttachedDocument, UnusableRow>) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(
            db, sql: "\(select) WHERE \(condition)", arguments: arguments, adapter: AttachedDocument.adapter)
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

    /// The name that a file of another app is written under: no part of it may lead elsewhere.
    static func title(_ name: String) -> String { Printable.text(FilePath(name).lastComponent.exact) }
}
