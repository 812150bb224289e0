import Foundation
public import GRDB

extension SyncedTable {
    /// Starts to share a table's rows. Its existing rows are queued as new. Call it again after a migration that has
    /// changed the table's columns.
    ///
    /// - Parameters:
    ///   - name: the name of a table whose primary key is the text column `id` with globally unique values. The table
    ///     must not have another unique index, because that may refuse a row on another device.
    ///   - db: the database of the migration that creates or changes the table.
    /// - Throws: ``SyncError/Code/unsuitableTable``.
    public static func install(_ name: String, in db: Database) throws {
        let table = try SyncedTable(name, in: db)
        try db.execute(
            sql: "INSERT INTO lfs_sync_table (name) VALUES (?) ON CONFLICT (name) DO NOTHING", arguments: [table.name])
        let isNew = db.changesCount > 0
        let triggers = CaptureTriggers(table)
        for name in triggers.names { try db.execute(sql: "DROP TRIGGER IF EXISTS \(name.quotedDatabaseIdentifier)") }
        for trigger in triggers.all { try db.execute(sql: trigger) }
        if isNew { try db.execute(sql: triggers.backfill) }
        try table.noteColumns(db)
    }

    /// Records the columns. A new column requires a full resync, because the server may have sent its values when this
    /// device had no place for them.
    private func noteColumns(_ db: Database) throws {
        // The first migration installs the files' table before the second one adds the column.
        guard try db.columns(in: "lfs_sync_table").contains(where: { $0.name == "columns" }) else { return }
        let known = try String.fetchOne(db, sql: "SELECT columns FROM lfs_sync_table WHERE name = ?", arguments: [name])
        if let known {
            let before = try String.fetchSet(db, sql: "SELECT value FROM json_each(?)", arguments: [known])
            if !before.isSuperset(of: columns) {
                try db.execute(sql: "UPDATE lfs_sync_state SET isToReset = 1 WHERE account IS NOT NULL")
            }
        }
        let list = String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)
        try db.execute(sql: "UPDATE lfs_sync_table SET columns = ? WHERE name = ?", arguments: [list, name])
    }
}
