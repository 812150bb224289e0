import GRDB
import LFSWire

extension SyncSchema {
    /// Reads the schema of an app's database. Besides `lfs_file`, it contains the tables for which
    /// `SyncedTable.install` was called.
    ///
    /// - Parameter path: the path of a database of the app on which its migrations have run. It is opened read-only.
    /// - Throws: ``SQLFailure``, ``SyncSchemaError``.
    public init(databaseAt path: String) throws {
        var configuration = Configuration()
        configuration.readonly = true
        do {
            let database = try DatabaseQueue(path: path, configuration: configuration)
            self.init(tables: try database.read { try Self.tables($0) })
        } catch {
            throw SQLFailure.converted(error)
        }
    }

    private static func tables(_ db: Database) throws -> [Table] {
        guard try db.tableExists("lfs_sync_table") else {
            throw SyncSchemaError(
                "", message: "The database shares no tables. Call SyncedTable.install for them first.")
        }
        let names = try String.fetchAll(
            db, sql: "SELECT name FROM lfs_sync_table WHERE name <> ? ORDER BY rowid", arguments: [Table.files.name])
        return try names.map { try table($0, db) }
    }

    private static func table(_ name: String, _ db: Database) throws -> Table {
        guard try db.tableExists(name) else {
            throw SyncSchemaError(name, message: "The database no longer has it.")
        }
        let parents = try db.foreignKeys(on: name).filter { $0.mapping.count == 1 && $0.mapping[0].destination == "id" }
        let actions = try actions(name, db)
        let since = try versions(name, db)
        let columns = try db.columns(in: name).filter { $0.name != "id" }.map { column in
            let parent = parents.first { $0.mapping[0].origin == column.name }
            let kind = kind(column.type)
            return Column(
                column.name, kind: kind, isRequired: column.isNotNull,
                parent: parent.map { Parent($0.destinationTable, onDelete: actions[column.name] ?? .noAction) },
                since: since[column.name] ?? 1,
                defaultValue: parent == nil ? column.defaultValueSQL.flatMap { value($0, kind: kind) } : nil)
        }
        return Table(name, columns: columns)
    }

    private static func actions(_ table: String, _ db: Database) throws -> [String: Parent.Action] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT \"from\", on_delete FROM pragma_foreign_key_list(?)", arguments: [table])
        return rows.reduce(into: [:]) { actions, row in
            guard let column: String = row[0] else { return }
            switch row[1] as String? {
            case "CASCADE": actions[column] = .cascade
            case "SET NULL": actions[column] = .setNull
            default: actions[column] = .noAction
            }
        }
    }

    /// Returns the first version with each column that version 1 of the rows lacks.
    private static func versions(_ table: String, _ db: Database) throws -> [String: Int] {
        // Apps with an earlier version of LFS have only version 1.
        guard try db.columns(in: "lfs_sync_table").contains(where: { $0.name == "since" }) else { return [:] }
        let sql = "SELECT e.key, e.value FROM lfs_sync_table t, json_each(t.since) e WHERE t.name = ?"
        return try Row.fetchAll(db, sql: sql, arguments: [table]).reduce(into: [:]) { versions, row in
            guard let column = String.fromDatabaseValue(row[0]) else { return }
            versions[column] = Int.fromDatabaseValue(row[1])
        }
    }

    /// Returns the constant of a default, as the column stores it. Nil for another default and for NULL.
    private static func value(_ literal: String, kind: Column.Kind) -> SQLValue? {
        switch (SyncValue(literal: literal), kind) {
        case (.integer(let number)?, .integer): .integer(number)
        case (.integer(let number)?, .real): .real(Double(number))
        case (.integer(let number)?, .text): .text("\(number)")
        case (.real(let number)?, .real): .real(number)
        case (.text(let text)?, .text): .text(text)
        case (.blob(let bytes)?, .blob): .blob(bytes)
        default: nil
        }
    }

    /// Returns the kind of a column by the rules of SQLite's affinities (https://sqlite.org/datatype3.html, section
    /// 3.1). Values of a column that accepts numbers and texts are sent as text. The column of the other device
    /// converts them back to numbers.
    private static func kind(_ type: String) -> Column.Kind {
        let type = type.uppercased()
        if type.contains("INT") || type == "BOOLEAN" { return .integer }
        if ["CHAR", "CLOB", "TEXT"].contains(where: type.contains) { return .text }
        if type.contains("BLOB") { return .blob }
        if ["REAL", "FLOA", "DOUB"].contains(where: type.contains) { return .real }
        return .text
    }
}
