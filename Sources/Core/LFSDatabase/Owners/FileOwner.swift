package import GRDB

/// A column of a host's table whose rows own the files that they refer to.
///
/// Its triggers do not delete files. They record in `lfs_disowned` which files a row has released. After the commit the
/// unreferenced ones are deleted. Within a statement it is not known yet which ones those are: `INSERT OR REPLACE`
/// removes the old row before it inserts the new one with the same file. With `recursive_triggers` the delete triggers
/// fire in between.
///
/// All queries name the schema `main`, because a temporary table may have the same name.
package struct FileOwner: Sendable {
    /// The number in the names of its triggers. It does not change when the table is renamed.
    let id: Int64
    let table: String
    let column: String
    /// True if its triggers exist, on a table that has the column.
    let isComplete: Bool

    // MARK: Installing

    /// Creates the triggers, or replaces them to match the current columns and unique indexes of the table.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner``, ``TableError/Code/notMigrated``.
    package static func install(_ table: String, column: String, _ db: Database) throws {
        guard try db.tableExists("lfs_owner", in: "main") else {
            throw TableError(
                .notMigrated,
                message:
                    "The tables of LFS do not exist: call registerLFSMigrations() before registering this migration."
            )
        }
        let keys = try UniqueKeys(of: table, db)
        guard try hasColumn(table, column: column, db) else {
            throw TableError(.unsuitableOwner, message: "The table '\(table)' has no column '\(column)'.")
        }
        for owner in try stored(db) where owner.table.isSameName(as: table) {
            // The new owner replaces one whose column was renamed.
            let isLost = try !hasColumn(table, column: owner.column, db)
            if owner.column.isSameName(as: column) || isLost { try owner.remove(db) }
        }
        try db.execute(
            sql: "INSERT INTO main.lfs_owner (tableName, columnName) VALUES (?, ?)", arguments: [table, column])
        let owner = FileOwner(id: db.lastInsertedRowID, table: table, column: column, isComplete: true)
        if try !owner.hasIndex(db) {
            try db.execute(sql: "CREATE INDEX main.\(owner.prefix) ON \(owner.quotedTable)(\(owner.quotedColumn))")
        }
        for trigger in OwnerTriggers(owner, keys: keys).all { try db.execute(sql: trigger) }
    }

    /// Removes the triggers of an owner. Its files stay, and are no longer deleted with its rows.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner`` if the column does not own files.
    package static func uninstall(_ table: String, column: String, _ db: Database) throws {
        let owners = try stored(db).filter { $0.table.isSameName(as: table) && $0.column.isSameName(as: column) }
        guard !owners.isEmpty else {
            throw TableError(.unsuitableOwner, message: "The column '\(column)' of the table '\(table)' owns no files.")
        }
        for owner in owners {
            // From now on these rows release nothing. A recorded file that a row still refers to was never released.
            if owner.isComplete { try OwnerlessFileTable.forget(heldBy: owner, db) }
            try owner.remove(db)
        }
    }

    private func remove(_ db: Database) throws {
        for name in OwnerTriggers.names(prefix) { try db.execute(sql: "DROP TRIGGER IF EXISTS main.\(name)") }
        try db.execute(sql: "DROP INDEX IF EXISTS main.\(prefix)")
        try db.execute(sql: "DELETE FROM main.lfs_owner WHERE id = ?", arguments: [id])
    }

    /// The prefix of the names of its triggers and its index.
    var prefix: String { "lfs_owner_\(id)" }
    var quotedTable: String { table.quotedDatabaseIdentifier }
    var quotedColumn: String { column.quotedDatabaseIdentifier }

    private func hasIndex(_ db: Database) throws -> Bool {
        try db.indexes(on: table, in: "main").contains { $0.columns.first?.isSameName(as: column) == true }
    }

    // MARK: Reading

    /// Returns all owners, with the current names of their tables.
    ///
    /// - Throws: ``TableError/Code/unsuitableOwner`` if a table was recreated without its triggers. Then the files that
    ///   its rows refer to could not be distinguished from unused ones.
    package static func all(_ db: Database) throws -> [FileOwner] {
        try stored(db).filter { owner in
            if owner.isComplete { return true }
            guard try db.tableExists(owner.table, in: "main") else { return false }
            throw TableError(
                .unsuitableOwner,
                message: """
                    The table '\(owner.table)' was created again, or its column '\(owner.column)' renamed, without the \
                    triggers of LFS. Call FileData.deletedWithOwner again in that migration.
                    """
            )
        }
    }

    /// Returns the recorded owners, regardless of the state of their tables.
    private static func stored(_ db: Database) throws -> [FileOwner] {
        try Row.fetchAll(db, sql: "SELECT id, tableName, columnName FROM main.lfs_owner").map { row in
            let checked = CheckedRow(row, of: "lfs_owner")
            let (id, column): (Int64, String) = (try checked.value("id"), try checked.value("columnName"))
            // SQLite keeps a trigger when its table is renamed, and drops it together with the table.
            let current = try String.fetchOne(
                db, sql: "SELECT tbl_name FROM main.sqlite_master WHERE type = 'trigger' AND name = ?",
                arguments: ["lfs_owner_\(id)_deleted"])
            let table = try current ?? checked.value("tableName")
            let isComplete = try current != nil && hasColumn(table, column: column, db)
            return FileOwner(id: id, table: table, column: column, isComplete: isComplete)
        }
    }

    private static func hasColumn(_ table: String, column: String, _ db: Database) throws -> Bool {
        guard try db.tableExists(table, in: "main") else { return false }
        return try db.columns(in: table, in: "main").contains { $0.name.isSameName(as: column) }
    }
}

extension String {
    /// Returns true if SQLite treats both as the same name. It ignores the case of ASCII letters.
    func isSameName(as other: String) -> Bool {
        func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
        return utf8.elementsEqual(other.utf8) { folded($0) == folded($1) }
    }
}
