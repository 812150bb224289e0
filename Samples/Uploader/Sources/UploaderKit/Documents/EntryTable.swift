import GRDB
import LFS
import LFSBackup

/// The table `uploader_entry` with the pushed folders and links of this device.
enum EntryTable {
    static let name = "uploader_entry"

    static func make(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE uploader_entry (
                    -- Like that of a document: text, or a blob if the bytes are not text.
                    path TEXT PRIMARY KEY NOT NULL,
                    title TEXT NOT NULL,
                    -- The target of a link. NULL for a folder.
                    target TEXT,
                    -- The time of the last change.
                    seconds INTEGER NOT NULL,
                    nanoseconds INTEGER NOT NULL,
                    -- The permission bits and the owner. NULL for a link.
                    mode INTEGER,
                    userId INTEGER,
                    groupId INTEGER
                ) WITHOUT ROWID;

                -- Increases with each change that is not in a file's row. See DatabaseSaver.
                ALTER TABLE \(DocumentSchema.ownTable) ADD COLUMN entryChanges INTEGER NOT NULL DEFAULT 0;
                """)
    }

    /// Returns true if the table exists. A database that is only read may belong to an older uploader or to another
    /// app.
    static func isThere(_ db: Database) throws -> Bool { try db.tableExists(name) }

    /// Returns the entries at some paths. Omits unusable rows. The next push of such an entry replaces its row.
    static func entries(at paths: [FilePath], _ db: Database) throws -> [FilePath: Entry] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT * FROM uploader_entry WHERE path IN (\(databaseQuestionMarks(count: paths.count)))",
            arguments: StatementArguments(paths))
        var found: [FilePath: Entry] = [:]
        for row in rows {
            do {
                let entry = try Entry(row: row)
                found[entry.path] = entry
            } catch is UploaderError {}
        }
        return found
    }

    /// A page of rows.
    struct Page: Sendable {
        var entries: [Entry] = []
        var unusable: [UnusableRow] = []
        /// The last path of the page. Nil at the end.
        var end: DatabaseValue?
    }

    /// Returns the page after a path, in the order of the paths, so that a folder precedes its content.
    static func page(after last: DatabaseValue, limit: Int, _ db: Database) throws -> Page {
        guard try isThere(db) else { return Page() }
        let rows = try Row.fetchCursor(
            db, sql: "SELECT * FROM uploader_entry WHERE path > ? ORDER BY path LIMIT \(limit)", arguments: [last])
        var page = Page()
        while let row = try rows.next() {
            let path: DatabaseValue = row["path"]
            page.end = path
            do { page.entries.append(try Entry(row: row)) } catch let error as UploaderError {
                let name = FilePath.fromDatabaseValue(path)?.description ?? "?"
                page.unusable.append(UnusableRow(fileID: name, reason: error.description))
            }
        }
        return page
    }

    /// Calls a closure with the path and the title of each entry, and true if it is a link.
    static func forEachName(_ db: Database, _ body: (FilePath, String, Bool) throws -> Void) throws {
        guard try isThere(db) else { return }
        let rows = try Row.fetchCursor(db, sql: "SELECT path, title, target IS NOT NULL FROM uploader_entry")
        while let row = try rows.next() {
            guard let path = FilePath.fromDatabaseValue(row[0]), let title = String.fromDatabaseValue(row[1]) else {
                continue
            }
            try body(path, title, row[2])
        }
    }

    /// Writes entries in place of existing ones at their paths.
    static func save(_ entries: [Entry], _ db: Database) throws {
        if entries.isEmpty { return }
        let statement = try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO uploader_entry
                    (path, title, target, seconds, nanoseconds, mode, userId, groupId)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """)
        for entry in entries {
            var target = DatabaseValue.null
            if case .link(let text) = entry.kind { target = text.databaseValue }
            let (attributes, permissions) = (entry.attributes, entry.attributes.permissions)
            try statement.execute(arguments: [
                entry.path, entry.title, target, attributes.seconds, attributes.nanoseconds, permissions?.mode,
                permissions?.user, permissions?.group,
            ])
        }
        try noteChange(db)
    }

    /// Removes the entries at some paths.
    ///
    /// - Returns: the number of removed entries.
    @discardableResult
    static func remove(_ paths: some Collection<FilePath>, _ db: Database) throws -> Int {
        var count = 0
        for path in paths {
            try db.cachedStatement(sql: "DELETE FROM uploader_entry WHERE path = ?").execute(arguments: [path])
            count += db.changesCount
        }
        if count > 0 { try noteChange(db) }
        return count
    }

    /// Records a change that is not visible in any file row.
    static func noteChange(_ db: Database) throws {
        try db.execute(sql: "UPDATE \(DocumentSchema.ownTable) SET entryChanges = entryChanges + 1")
    }
}
