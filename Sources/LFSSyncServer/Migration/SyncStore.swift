public import Foundation

/// The tables behind a sync server: made, compared with what the server has noted of them, and brought to another
/// schema.
///
/// A ``SyncService`` does all of it when it begins. For operators there are the steps alone:
///
/// ```swift
/// let store = try SyncStore(database, schema: schema)
/// for statement in try await store.pending() { print(statement + ";") }
/// try await store.migrate()
/// ```
public struct SyncStore: Sendable {
    private let database: any SQLDatabase
    private let schema: SyncSchema
    private let checked: CheckedSchema

    /// Opens nothing yet.
    ///
    /// - Throws: ``SyncSchemaError``.
    public init(_ database: any SQLDatabase, schema: SyncSchema) throws {
        (self.database, self.schema) = (database, schema)
        checked = try CheckedSchema(schema)
        try SchemaObject.requireNames(of: checked, database.dialect)
    }

    /// What makes an empty store, statement by statement.
    ///
    /// - Throws: ``SyncSchemaError``.
    public static func statements(for schema: SyncSchema, dialect: SQLDialect) throws -> [String] {
        ServerTables.scripts(dialect) + SchemaObject.all(of: try CheckedSchema(schema), dialect).map(\.source)
    }

    /// What ``migrate()`` would run. Nothing is changed.
    ///
    /// - Throws: ``SyncStoreError``, ``SQLFailure``.
    public func pending() async throws -> [String] {
        let dialect = database.dialect
        return try await database.read { db in
            guard let state = try SchemaTable.state(db) else {
                return try Self.statements(for: schema, dialect: dialect)
            }
            return try difference(from: state, db).statements
        }
    }

    /// Looks whether the tables, indexes and triggers are as the server has made them, and whether the schema can be
    /// reached. Nothing is changed.
    ///
    /// - Throws: ``SyncStoreError``, ``SQLFailure``.
    public func check() async throws { _ = try await pending() }

    /// Makes the tables where there are none, and adds what the schema has come to have. Servers that begin at once
    /// wait for each other.
    ///
    /// - Returns: the statements that were run, besides those that every schema has.
    /// - Throws: ``SyncStoreError`` when something was changed by hand, or had to be taken away; ``SQLFailure``.
    @discardableResult public func migrate() async throws -> [String] {
        try await database.write { db in
            try PostgresOrder.takeTurn(db)
            let state: SchemaTable.State
            if let found = try SchemaTable.state(db) {
                state = found
            } else {
                for script in ServerTables.scripts(db.dialect) { try db.run(script: script) }
                state = try SchemaTable.begin(db)
            }
            let difference = try difference(from: state, db)
            if difference.statements.isEmpty, state.schema == schema { return [] }
            for statement in difference.statements { try db.run(script: statement) }
            try SchemaTable.note(schema, SchemaObject.all(of: checked, db.dialect), db)
            return difference.statements
        }
    }

    /// - Throws: ``SyncStoreError``.
    private func difference(from state: SchemaTable.State, _ db: any SQLConnection) throws -> SchemaDifference {
        guard state.version <= ServerTables.version else {
            throw SyncStoreError(
                .newerServer,
                ["The database is of version \(state.version), and this server knows \(ServerTables.version)."])
        }
        let drift = SchemaTable.drift(from: state.objects, to: try SchemaCatalog.objects(db))
        guard drift.isEmpty else { throw SyncStoreError(.drift, drift) }
        let difference = SchemaDifference(
            from: state.schema, to: schema, checked: checked, made: state.objects, dialect: db.dialect)
        guard difference.refusals.isEmpty else { throw SyncStoreError(.destructive, difference.refusals) }
        return difference
    }
}

/// Why a store is not served.
public struct SyncStoreError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// A newer server has made it.
        case newerServer
        /// Something is not as the server has made it.
        case drift
        /// The schema lacks, or wants otherwise, what the store has.
        case destructive
    }

    public let code: Code
    /// A sentence for each thing.
    public let details: [String]

    init(_ code: Code, _ details: [String]) { (self.code, self.details) = (code, details) }

    public var description: String {
        let all = details.joined(separator: " ")
        return switch code {
        case .newerServer: "\(all) Use the newer server."
        case .drift:
            "\(all) Devices would miss changes. Put it back as 'lfs-server schema print' has it, or restore a backup."
        case .destructive:
            "\(all) The server takes nothing away by itself. If it is older than the schema, use a newer one; else "
                + "keep the column or table, or carry its rows into a new store by a program of your own."
        }
    }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
