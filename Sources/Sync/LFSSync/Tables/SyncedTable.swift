import GRDB
import LFSWire

/// A table of the app whose rows the account's devices share.
public struct SyncedTable: Sendable, Hashable {
    /// The table's name in the database.
    public let name: String
    /// The synced columns in their order, without the primary key.
    let columns: [String]
    let type: SyncType

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
        type = SyncType(name: typeName, version: 1)
    }
}

/// The columns of the files' table that devices share. Values that concern only one device, and the order of its own
/// changes, stay on that device.
enum FileColumns {
    static let shared = ["name", "contentType", "byteCount", "sha256", "key", "createdAt", "status", "url"]
}
