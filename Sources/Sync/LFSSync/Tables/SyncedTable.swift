import GRDB
import LFSWire

/// A table of the app whose rows the account's devices share.
public struct SyncedTable: Sendable, Hashable {
    /// The table's name in the database.
    public let name: String
    /// The synced columns in their order, without the primary key.
    let columns: [String]
    /// The newest version of the rows that this app knows.
    private(set) var type: SyncType
    /// The columns that the first version lacks, by name.
    private let laterColumns: [String: LaterColumn]

    /// A column that an earlier version of the rows lacks.
    private struct LaterColumn: Sendable, Hashable {
        /// The first version with the column.
        let since: Int
        /// The default as an SQL literal, or nil if it is not constant.
        let defaultLiteral: String?
    }

    static let keyColumn = "id"

    /// Returns the installed tables, parents before their children. Tables in a circle of references have no defined
    /// order.
    ///
    /// - Throws: ``SyncError/Code/missingTable``, ``SyncError/Code/unsuitableTable``.
    static func all(_ db: Database) throws -> [SyncedTable] {
        var left = try String.fetchAll(db, sql: "SELECT name FROM lfs_sync_table ORDER BY rowid")
        if let gone = try left.first(where: { try !db.tableExists($0) }) {
            throw SyncError(
                .missingTable,
                message: """
                    The table '\(gone)' was synced before and does not exist any more. Create and install it again.
                    """)
        }
        var sorted: [SyncedTable] = []
        while !left.isEmpty {
            let next = try left.firstIndex { name in
                let parents = try db.foreignKeys(on: name).map(\.destinationTable)
                return !parents.contains { parent in parent != name && left.contains(parent) }
            }
            sorted.append(try SyncedTable(left.remove(at: next ?? 0), in: db))
        }
        return sorted
    }

    /// - Throws: ``SyncError/Code/unsuitableTable``.
    init(_ name: String, in db: Database) throws {
        func unsuitable(_ reason: String) -> SyncError {
            SyncError(.unsuitableTable, message: "The table '\(name)' cannot be synced: \(reason)")
        }
        guard try db.tableExists(name) else { throw unsuitable("it does not exist. Install it after it was created.") }
        guard let typeName = SyncType.name(ofTable: name) else {
            throw unsuitable(
                "its name may have letters, digits and '_', and may not begin with 'Sync' or end with 'Delete'.")
        }
        let found = try db.columns(in: name)
        let key = try db.primaryKey(name)
        guard key.columns == [Self.keyColumn],
            found.first(where: { $0.name == Self.keyColumn })?.type.uppercased() == "TEXT"
        else {
            throw unsuitable(
                """
                its primary key has to be the text column 'id' with globally unique ids, such as UUIDs. Numbers would \
                be equal on two devices.
                """)
        }
        let others = try db.indexes(on: name).filter { $0.isUnique && $0.columns != key.columns }
        guard others.isEmpty else {
            throw unsuitable(
                """
                its index '\(others[0].name)' is unique, so two devices could create rows that conflict with each \
                other. Make the index an ordinary one, or part of the id.
                """)
        }
        self.name = name
        columns = name == SyncType.fileTable ? FileColumns.shared : found.map(\.name).filter { $0 != Self.keyColumn }
        let versions = try SyncedVersions(of: name, db)
        type = SyncType(name: typeName, version: versions.newest)
        laterColumns = versions.since.reduce(into: [:]) { later, entry in
            guard let column = found.first(where: { $0.name == entry.key }) else { return }
            let text = column.defaultValueSQL ?? "NULL"
            later[entry.key] = LaterColumn(
                since: entry.value, defaultLiteral: SyncValue(literal: text) == nil ? nil : text)
        }
    }

    /// The versions of the rows that this app knows, the newest first.
    var types: [SyncType] {
        stride(from: type.version, through: 1, by: -1).map { SyncType(name: type.name, version: $0) }
    }

    /// Returns the table for a server that has only an earlier version of its rows.
    func limited(to type: SyncType) -> SyncedTable {
        var table = self
        table.type = type
        return table
    }

    /// Returns true if the list of installed tables exists and has a column, which a later migration may have added.
    static func isRecorded(_ column: String, _ db: Database) throws -> Bool {
        let sql = "SELECT count(*) > 0 FROM pragma_table_info('lfs_sync_table') WHERE name = ?"
        return try Bool.fetchOne(db, sql: sql, arguments: [column]) ?? false
    }

    /// Returns the columns to send of a new row. It leaves out columns that the version lacks if they have their
    /// defaults, because a server with a newer version fills in the same values.
    func columns(ofNew key: String, _ db: Database) throws -> [String] {
        let later = laterColumns.filter { $0.value.since > type.version }
        if later.isEmpty { return columns }
        return try columns.filter { column in
            guard let later = later[column] else { return true }
            guard let literal = later.defaultLiteral else { return true }
            let sql = """
                SELECT \(column.quotedDatabaseIdentifier) IS \(literal) FROM \(name.quotedDatabaseIdentifier)
                WHERE id = ?
                """
            return try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [key]) != true
        }
    }
}

/// The versions of a table's rows, as stored in `lfs_sync_table`.
struct SyncedVersions {
    /// The version of the last install.
    var newest = 1
    /// The first version with each column that version 1 lacks.
    var since: [String: Int] = [:]

    /// Creates the versions of a table that is not installed yet.
    init() {}

    /// Reads the versions of a table. A table that is not installed has only version 1.
    init(of name: String, _ db: Database) throws {
        // The first two migrations install tables before the third one adds the columns.
        guard try SyncedTable.isRecorded("since", db) else { return }
        let row = try Row.fetchOne(
            db, sql: "SELECT version, since FROM lfs_sync_table WHERE name = ?", arguments: [name])
        guard let row else { return }
        newest = row["version"]
        let object: String = row["since"]
        for pair in try Row.fetchAll(db, sql: "SELECT key, value FROM json_each(?)", arguments: [object]) {
            guard let column = String.fromDatabaseValue(pair["key"]) else { continue }
            since[column] = Int.fromDatabaseValue(pair["value"])
        }
    }
}

/// The columns of the files' table that devices share. Values that concern only one device, and the order of its own
/// changes, stay on that device.
enum FileColumns {
    static let shared = ["name", "contentType", "byteCount", "sha256", "key", "createdAt", "status", "url"]
}
