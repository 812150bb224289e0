import Foundation
public import GRDB
import LFSWire

extension SyncedTable {
    /// Starts to share a table's rows. Its existing rows are queued as new. Call it again after a migration that has
    /// changed the table's columns.
    ///
    /// A version is a set of columns. A device asks for the newest version that it knows, and accepts earlier ones
    /// from a server that lacks it. Columns that were added since the last install belong to the given version.
    ///
    /// - Parameters:
    ///   - name: the name of a table whose primary key is the text column `id` with globally unique values. The table
    ///     must not have another unique index, because that may refuse a row on another device.
    ///   - version: the version of the rows with the current columns, 1 to 999. The default is the version of the last
    ///     install, or 1 for a new table. In a later version, new columns that are NOT NULL need a constant default.
    ///   - db: the database of the migration that creates or changes the table.
    /// - Throws: ``SyncError/Code/unsuitableTable``.
    public static func install(_ name: String, version: Int? = nil, in db: Database) throws {
        let unversioned = try SyncedTable(name, in: db)
        try db.execute(
            sql: "INSERT INTO lfs_sync_table (name) VALUES (?) ON CONFLICT (name) DO NOTHING", arguments: [name])
        let isNew = db.changesCount > 0
        try unversioned.noteColumns(version: version, isNew: isNew, db)
        let triggers = CaptureTriggers(try SyncedTable(name, in: db))
        for name in triggers.names { try db.execute(sql: "DROP TRIGGER IF EXISTS \(name.quotedDatabaseIdentifier)") }
        for trigger in triggers.all { try db.execute(sql: trigger) }
        if isNew { try db.execute(sql: triggers.backfill) }
    }

    /// Records the columns and their version. A new column of the same version requires a full resync, because the
    /// server may have sent its values when this device had no place for them. A new version is received from its
    /// first row on.
    private func noteColumns(version: Int?, isNew: Bool, _ db: Database) throws {
        // The first migration installs the files' table before the second one adds the column.
        guard try Self.isRecorded("columns", db) else { return }
        let known = try String.fetchOne(db, sql: "SELECT columns FROM lfs_sync_table WHERE name = ?", arguments: [name])
        let before = try known.map { try String.fetchSet(db, sql: "SELECT value FROM json_each(?)", arguments: [$0]) }
        let added = before.map { Set(columns).subtracting($0) } ?? []
        let isNewVersion = try noteVersion(version, isNew: isNew, added: added, db)
        if !added.isEmpty, !isNewVersion {
            try db.execute(sql: "UPDATE lfs_sync_state SET isToReset = 1 WHERE account IS NOT NULL")
        }
        let list = String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)
        try db.execute(sql: "UPDATE lfs_sync_table SET columns = ? WHERE name = ?", arguments: [list, name])
    }

    /// Records the version of the rows.
    ///
    /// - Parameter added: the columns that the table did not have at the last install.
    /// - Returns: true if the version is newer than at the last install.
    private func noteVersion(_ version: Int?, isNew: Bool, added: Set<String>, _ db: Database) throws -> Bool {
        guard try Self.isRecorded("since", db) else { return false }
        var versions = isNew ? SyncedVersions() : try SyncedVersions(of: name, db)
        let before = versions.newest
        versions.newest = version ?? before
        guard (1...999).contains(versions.newest), versions.newest >= before else {
            throw SyncError(
                .unsuitableTable,
                message: """
                    The table '\(name)' cannot get the version \(versions.newest): it has the version \(before). The \
                    next one is \(before + 1), and the last possible one is 999.
                    """)
        }
        versions.since = versions.since.filter { columns.contains($0.key) }
        if versions.newest > 1 {
            for column in added { versions.since[column] = versions.newest }
            try requireDefaults(of: added, db)
        }
        let since = String(decoding: try JSONEncoder().encode(versions.since), as: UTF8.self)
        try db.execute(
            sql: "UPDATE lfs_sync_table SET version = ?, since = ? WHERE name = ?",
            arguments: [versions.newest, since, name])
        return !isNew && versions.newest > before
    }

    /// Checks that rows of devices with an older app can be stored, although they lack the columns.
    private func requireDefaults(of added: Set<String>, _ db: Database) throws {
        for column in try db.columns(in: name) where added.contains(column.name) && column.isNotNull {
            guard let literal = column.defaultValueSQL, let value = SyncValue(literal: literal), value != .null else {
                throw SyncError(
                    .unsuitableTable,
                    message: """
                        The table '\(name)' cannot be synced: its new column '\(column.name)' is NOT NULL, and rows of \
                        older apps lack it. Give it a constant default, such as DEFAULT 0.
                        """)
            }
        }
    }
}
