import GRDB
import LFSWire

/// A table of the host whose rows its devices share.
public struct SyncedTable: Sendable, Hashable {
    /// As the database has it.
    public let name: String
    /// All but the primary key, in their order.
    let columns: [String]
    let type: SyncType

    static let keyColumn = "id"

    /// Those that were installed, parents before their children. Of a circle of references none comes first.
    ///
    /// - Throws: ``SyncError/Code/missingTable``, ``SyncError/Code/unsuitableTable``.
    static func all(_ db: Database) throws -> [SyncedTable] {
        var left = try String.fetchAll(db, sql: "SELECT name FROM lfs_sync_table ORDER BY rowid")
        if let gone = try left.first(where: { try !db.tableExists($0) }) {
            throw SyncError(
                .missingTable,
                "The table '\(gone)' was shared and is not there any more: make it again and install it.")
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
            SyncError(.unsuitableTable, "The table '\(name)' cannot be synced: \(reason)")
        }
        guard try db.tableExists(name) else { throw unsuitable("there is none. Install it after it was created.") }
        guard let typeName = SyncType.name(ofTable: name) else {
            throw unsuitable(
                "use letters, digits and '_' for its name, and neither 'Sync' at first nor 'Delete' at last.")
        }
        let found = try db.columns(in: name)
        let key = try db.primaryKey(name)
        guard key.columns == [Self.keyColumn],
            found.first(where: { $0.name == Self.keyColumn })?.type.uppercased() == "TEXT"
        else {
            throw unsuitable(
                """
                its primary key has to be the text column 'id', with an id that is unique in the world, such as a \
                UUID. Numbers of two devices would be the same.
                """)
        }
        let others = try db.indexes(on: name).filter { $0.isUnique && $0.columns != key.columns }
        guard others.isEmpty else {
            throw unsuitable(
                """
                its index '\(others[0].name)' is unique, so that two devices could make rows that no database takes \
                together. Make it an ordinary one, or part of the id.
                """)
        }
        self.name = name
        columns = name == SyncType.fileTable ? FileColumns.shared : found.map(\.name).filter { $0 != Self.keyColumn }
        type = SyncType(name: typeName, version: 1)
    }
}

/// The columns of the files' table that devices share: what belongs to one device, and the order of its own changes,
/// stay there.
enum FileColumns {
    static let shared = ["name", "contentType", "byteCount", "sha256", "key", "createdAt", "status", "url"]
}
