public import Foundation
import LFSWire

/// A schema that holds together: every table has a type, every parent is a table, and parents come first.
struct CheckedSchema: Sendable {
    struct Table: Sendable {
        let table: SyncSchema.Table
        let typeName: String
        /// The columns that each version has, from version 1 on.
        let versions: [[SyncSchema.Column]]

        var name: String { table.name }
        var newest: SyncType { SyncType(name: typeName, version: versions.count) }
    }

    /// Parents before their children.
    let tables: [Table]
    let sharing: CheckedSharing
    private let places: [String: Int]

    /// - Throws: ``SyncSchemaError``.
    init(_ schema: SyncSchema) throws(SyncSchemaError) {
        var found: [Table] = []
        for table in try Self.sorted(schema.tables) { found.append(try Self.checked(table)) }
        var places: [String: Int] = [:]
        for (index, table) in found.enumerated() {
            guard places.updateValue(index, forKey: table.typeName) == nil else {
                throw SyncSchemaError(
                    table.name, "Two tables would both be called \(table.typeName) on the wire: rename one.")
            }
        }
        (tables, self.places) = (found, places)
        sharing = try CheckedSharing(schema)
    }

    /// The table of a type; nil for a type, or a version of one, that there is not.
    func table(of type: SyncType) -> Table? {
        guard let index = places[type.name], type.version <= tables[index].versions.count else { return nil }
        return tables[index]
    }

    /// All types, for whoever has asked for one that there is not.
    var typeNames: [String] {
        tables.flatMap { table in (1...table.versions.count).map { "\(SyncType(name: table.typeName, version: $0))" } }
    }

    /// - Throws: ``SyncSchemaError`` for a table that can have no policy of its own.
    func requireTables(ofConflicts names: some Sequence<String>) throws(SyncSchemaError) {
        for name in names.sorted() {
            guard name != SyncType.fileTable else {
                throw SyncSchemaError(name, "Changes of files have rules of their own: leave out its conflict policy.")
            }
            guard tables.contains(where: { $0.name == name }) else {
                throw SyncSchemaError(name, "It has a conflict policy and is not in the schema: is its name right?")
            }
        }
    }

    private static let reserved: Set<String> = ["id", "scopeid", "updateid", "rowid", "oid", "_rowid_"]

    private static func checked(_ table: SyncSchema.Table) throws(SyncSchemaError) -> Table {
        guard let typeName = SyncType.name(ofTable: table.name), !table.name.lowercased().hasPrefix("sync_") else {
            throw SyncSchemaError(
                table.name,
                "It has a name that cannot be synced: use letters, digits and '_', and not 'sync_' at first.")
        }
        var names: Set<String> = []
        for column in table.columns {
            let isName =
                !column.name.isEmpty && column.name.utf8.count <= 60
                && column.name.utf8.allSatisfy { $0.isIdentifier }
            guard isName, !reserved.contains(column.name.lowercased()) else {
                throw SyncSchemaError(table.name, "Its column '\(column.name)' has a name that cannot be synced.")
            }
            guard names.insert(column.name.lowercased()).inserted else {
                throw SyncSchemaError(table.name, "It has the column '\(column.name)' twice.")
            }
            guard (1...999).contains(column.since) else {
                throw SyncSchemaError(table.name, "Its column '\(column.name)' is of a version that there is not.")
            }
        }
        let versions = (1...table.version).map { version in table.columns.filter { $0.since <= version } }
        return Table(table: table, typeName: typeName, versions: versions)
    }

    /// A table that refers to itself is one; two that refer to each other are not.
    private static func sorted(_ tables: [SyncSchema.Table]) throws(SyncSchemaError) -> [SyncSchema.Table] {
        var left = tables
        var done: [SyncSchema.Table] = []
        let names = Set(tables.map(\.name))
        guard names.count == tables.count else { throw SyncSchemaError("", "A table is there twice.") }
        while !left.isEmpty {
            let index = left.firstIndex { table in
                table.columns.allSatisfy { column in
                    guard let parent = column.parent?.table, parent != table.name else { return true }
                    return done.contains { $0.name == parent }
                }
            }
            guard let index else {
                let table = left[0]
                let missing = table.columns.compactMap(\.parent?.table).first { !names.contains($0) }
                throw SyncSchemaError(
                    table.name,
                    missing.map { "It refers to '\($0)', which is not synced: add that table." }
                        ?? "It refers to a table that refers to it: one of the two has to do without a reference.")
            }
            done.append(left.remove(at: index))
        }
        return done
    }
}

/// Why tables cannot be synced, and what to do.
public struct SyncSchemaError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The table that it is about; empty for all of them.
    public let table: String
    public let message: String

    init(_ table: String, _ message: String) {
        self.table = table
        self.message = message
    }

    public var description: String { table.isEmpty ? message : "The table '\(table)' cannot be synced. \(message)" }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}

extension UInt8 {
    fileprivate var isIdentifier: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) || self == UInt8(ascii: "_")
    }
}
