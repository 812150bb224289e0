package import GRDB

/// A column of a table of the host whose rows own the files that they refer to.
///
/// Its triggers do not delete: they note in `lfs_disowned` which files a row has let go of, and after the commit those
/// are deleted that nothing refers to. Within a statement it could not be told: `INSERT OR REPLACE` removes the old row
/// before the new one with the same file is there, and with `recursive_triggers` its delete triggers fire between.
///
/// Everything is asked of the schema `main`: a temporary table of the same name is another table.
package struct FileOwner: Sendable {
    /// The number in the names of its triggers, which stays when the table is renamed.
    let id: Int64
    let table: String
    let column: String
    /// Whether its triggers are there, on a table that has the column.
    let isComplete: Bool

    // MARK: Making

    /// Makes the triggers, or makes them anew for the columns and unique indexes that the table has now.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner``, ``TableError/Code/notMigrated``.
    package static func install(_ table: String, _ column: String, _ db: Database) throws {
        guard try db.tableExists("lfs_owner", in: "main") else {
            throw TableError(
                .notMigrated,
                "The tables of LFS are not there yet: call registerLFSMigrations() before this migration is registered."
            )
        }
        let keys = try UniqueKeys(of: table, db)
        guard try hasColumn(table, column, db) else {
            throw TableError(.unsuitableOwner, "The table '\(table)' has no column '\(column)'.")
        }
        for owner in try stored(db) where owner.table.isSameName(as: table) {
            // One whose column was renamed is replaced by the one that is made now.
            let isLost = try !hasColumn(table, owner.column, db)
            if owner.column.isSameName(as: column) || isLost { try owner.remove(db) }
        }
        try db.execute(
            sql: "INSERT INTO main.lfs_owner (tableName, columnName) VALUES (?, ?)", arguments: [table, column])
        let owner = FileOwner(id: db.lastInsertedRowID, table: table, column: column, isComplete: true)
        if try !owner.hasIndex(db) {
            try db.execute(sql: "CREATE INDEX main.\(owner.prefix) ON \(owner.quotedTable)(\(owner.quotedColumn))")
        }
        for trigger in OwnerTriggers(owner, keys).all { try db.execute(sql: trigger) }
    }

    /// Takes the triggers of an owner away. Its files stay, and are no longer deleted with it.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner`` when the column owns nothing.
    package static func uninstall(_ table: String, _ column: String, _ db: Database) throws {
        let owners = try stored(db).filter { $0.table.isSameName(as: table) && $0.column.isSameName(as: column) }
        guard !owners.isEmpty else {
            throw TableError(.unsuitableOwner, "The column '\(column)' of the table '\(table)' owns no files.")
        }
        for owner in owners {
            // From here on these rows let go of nothing. What the triggers noted and the rows still refer to was never
            // let go of.
            if owner.isComplete { try DisownedTable.forget(heldBy: owner, db) }
            try owner.remove(db)
        }
    }

    private func remove(_ db: Database) throws {
        for name in OwnerTriggers.names(prefix) { try db.execute(sql: "DROP TRIGGER IF EXISTS main.\(name)") }
        try db.execute(sql: "DROP INDEX IF EXISTS main.\(prefix)")
        try db.execute(sql: "DELETE FROM main.lfs_owner WHERE id = ?", arguments: [id])
    }

    /// What the names of its triggers and its index begin with.
    var prefix: String { "lfs_owner_\(id)" }
    var quotedTable: String { table.quotedDatabaseIdentifier }
    var quotedColumn: String { column.quotedDatabaseIdentifier }

    private func hasIndex(_ db: Database) throws -> Bool {
        try db.indexes(on: table, in: "main").contains { $0.columns.first?.isSameName(as: column) == true }
    }

    // MARK: Reading

    /// All owners, under the names that their tables have now.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner`` when a table was made anew without its triggers: what its rows
    ///   refer to could not be told from what nobody wants.
    package static func all(_ db: Database) throws -> [FileOwner] {
        try stored(db).filter { owner in
            if owner.isComplete { return true }
            guard try db.tableExists(owner.table, in: "main") else { return false }
            throw TableError(
                .unsuitableOwner,
                """
                The table '\(owner.table)' was made anew, or its column '\(owner.column)' renamed, without the \
                triggers of LFS. Call FileData.deletedWithOwner again in that migration.
                """
            )
        }
    }

    /// What the database remembers of owners, whatever has become of their tables.
    private static func stored(_ db: Database) throws -> [FileOwner] {
        try Row.fetchAll(db, sql: "SELECT id, tableName, columnName FROM main.lfs_owner").map { row in
            let checked = CheckedRow(row, of: "lfs_owner")
            let (id, column): (Int64, String) = (try checked.value("id"), try checked.value("columnName"))
            // SQLite keeps a trigger with its table when that is renamed, and drops both together.
            let current = try String.fetchOne(
                db, sql: "SELECT tbl_name FROM main.sqlite_master WHERE type = 'trigger' AND name = ?",
                arguments: ["lfs_owner_\(id)_deleted"])
            let table = try current ?? checked.value("tableName")
            let isComplete = try current != nil && hasColumn(table, column, db)
            return FileOwner(id: id, table: table, column: column, isComplete: isComplete)
        }
    }

    private static func hasColumn(_ table: String, _ column: String, _ db: Database) throws -> Bool {
        guard try db.tableExists(table, in: "main") else { return false }
        return try db.columns(in: table, in: "main").contains { $0.name.isSameName(as: column) }
    }
}

extension String {
    /// Whether SQLite takes both for the same name: it ignores the case of ASCII letters.
    func isSameName(as other: String) -> Bool {
        func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return utf8.elementsEqual(other.utf8) { folded($0) == folded($1) }
    }
}
