public import Foundation
import LFSWire

/// A validated schema: every table has a type, every parent is a table of the schema, and parents come first.
struct CheckedSchema: Sendable {
    struct Table: Sendable {
        let table: SyncSchema.Table
        let typeName: String
        /// The columns of each version, starting with version 1.
        let versions: [[SyncSchema.Column]]

        var name: String { table.name }
        var newest: SyncType { SyncType(name: typeName, version: versions.count) }
    }

    /// A column that refers to rows of another table, or of its own.
    struct Reference: Sendable {
        let child: Table
        let column: String
        let parent: Table
        /// The effect of a deletion of the row that it refers to.
        let action: SyncSchema.Parent.Action
    }

    /// The tables, parents before their children.
    let tables: [Table]
    let references: [Reference]
    let sharing: CheckedSharing
    private let places: [String: Int]

    /// Validates a schema.
    ///
    /// - Throws: ``SyncSchemaError``.
    init(_ schema: SyncSchema) throws(SyncSchemaError) {
        var found: [Table] = []
        for table in try Self.sorted(schema.tables) { found.append(try Self.checked(table)) }
        var places: [String: Int] = [:]
        for (index, table) in found.enumerated() {
            guard places.updateValue(index, forKey: table.typeName) == nil else {
                throw SyncSchemaError(
                    table.name, message: "Two tables would be called \(table.typeName) in the protocol. Rename one.")
            }
        }
        tables = found
        references = found.flatMap { child in
            child.table.columns.compactMap { column in
                guard let reference = column.parent, let parent = found.first(where: { $0.name == reference.table })
                else { return nil }
                return Reference(child: child, column: column.name, parent: parent, action: reference.onDelete)
            }
        }
        self.places = places
        sharing = try CheckedSharing(schema)
    }

    /// Returns the table of a type, or nil for an unknown type or version.
    func table(of type: SyncType) -> Table? {
        guard let index = places[type.name], type.version <= tables[index].versions.count else { return nil }
        return tables[index]
    }

    /// The names of all types, for the error about an unknown type.
    var typeNames: [String] {
        tables.flatMap { table in (1...table.versions.count).map { "\(SyncType(name: table.typeName, version: $0))" } }
    }

    /// Checks the tables that have conflict policies.
    ///
    /// - Throws: ``SyncSchemaError`` for a table that cannot have its own policy.
    func requireTables(ofConflicts names: some Sequence<String>) throws(SyncSchemaError) {
        for name in names.sorted() {
            guard name != SyncType.fileTable else {
                throw SyncSchemaError(
                    name, message: "Changes of files have their own rules. Leave out the conflict policy.")
            }
            guard tables.contains(where: { $0.name == name }) else {
                throw SyncSchemaError(
                    name, message: "It has a conflict policy but is not in the schema. Check its name.")
            }
        }
    }

    private static let reserved: Set<String> = ["id", "scopeid", "updateid", "rowid", "oid", "_rowid_"]

    private static func checked(_ table: SyncSchema.Table) throws(SyncSchemaError) -> Table {
        guard let typeName = SyncType.name(ofTable: table.name), !table.name.lowercased().hasPrefix("sync_") else {
            throw SyncSchemaError(
                table.name,
                message: "Its name may have letters, digits and '_', and may not begin with 'sync_'.")
        }
        var names: Set<String> = []
        for column in table.columns {
            let isName =
                !column.name.isEmpty && column.name.utf8.count <= 60
                && column.name.utf8.allSatisfy { $0.isIdentifier }
            guard isName, !reserved.contains(column.name.lowercased()) else {
                throw SyncSchemaError(
                    table.name, message: "Its column '\(column.name)' has a name that cannot be synced.")
            }
            guard names.insert(column.name.lowercased()).inserted else {
                throw SyncSchemaError(table.name, message: "It has the column '\(column.name)' twice.")
            }
            guard (1...999).contains(column.since) else {
                throw SyncSchemaError(
                    table.name, message: "Its column '\(column.name)' is of an unknown version.")
            }
            try requireDefault(of: column, table: table.name)
        }
        let versions = (1...table.version).map { version in table.columns.filter { $0.since <= version } }
        return Table(table: table, typeName: typeName, versions: versions)
    }

    private static func requireDefault(
        of column: SyncSchema.Column, table: String
    ) throws(SyncSchemaError) {
        let isValid =
            switch (column.defaultValue, column.kind) {
            case (nil, _), (.integer?, .integer), (.blob?, .blob): true
            case (.real(let value)?, .real): value.isFinite
            case (.text(let text)?, .text): !text.utf8.contains(0)
            default: false
            }
        // Existing rows would refer to that row, which may not exist.
        guard isValid, column.defaultValue == nil || column.parent == nil else {
            throw SyncSchemaError(
                table,
                message: """
                    The default of its column '\(column.name)' has to be of the kind \(column.kind.rawValue), and a \
                    reference has none.
                    """)
        }
    }

    /// Sorts tables, parents first. A table may refer to itself, but two tables must not refer to each other.
    private static func sorted(_ tables: [SyncSchema.Table]) throws(SyncSchemaError) -> [SyncSchema.Table] {
        var left = tables
        var done: [SyncSchema.Table] = []
        let names = Set(tables.map(\.name))
        guard names.count == tables.count else { throw SyncSchemaError("", message: "The schema has a table twice.") }
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
                    message: missing.map { "It refers to '\($0)', which is not synced. Add that table." }
                        ?? "It refers to a table that refers to it. Remove one of the references.")
            }
            done.append(left.remove(at: index))
        }
        return done
    }
}

/// An error that prevents tables from being synced. The message says what to do.
public struct SyncSchemaError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The affected table. Empty if all tables are affected.
    package let table: String
    /// The reason, and what to do.
    public let message: String

    init(_ table: String, message: String) {
        self.table = table
        self.message = message
    }

    /// The ``message``, after the name of the table if only one is affected.
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
