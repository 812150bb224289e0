public import Foundation

/// The tables behind a sync server. A store creates them, compares them with the server's records, and migrates them to
/// another schema.
///
/// A ``SyncService`` does all of this when it starts. Operators can run the steps separately:
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

    /// Creates a store without opening the database.
    ///
    /// - Throws: ``SyncSchemaError``.
    public init(_ database: any SQLDatabase, schema: SyncSchema) throws {
        self.database = database
        self.schema = schema
        checked = try CheckedSchema(schema)
        try SchemaObject.requireNames(of: checked, database.dialect)
    }

    /// Returns the statements that create an empty store.
    ///
    /// - Throws: ``SyncSchemaError``.
    public static func statements(for schema: SyncSchema, dialect: SQLDialect) throws -> [String] {
        ServerTables.scripts(dialect) + SchemaObject.all(of: try CheckedSchema(schema), dialect).map(\.source)
            + SchemaAddition.all(dialect).flatMap(\.statements)
    }

    /// Returns the statements that ``migrate()`` would run. Changes nothing.
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

    /// Checks that the tables, indexes and triggers are as the server has created them, and that they can be migrated
    /// to the schema. Changes nothing.
    ///
    /// - Throws: ``SyncStoreError``, ``SQLFailure``.
    public func check() async throws { _ = try await pending() }

    /// Creates missing tables, and adds the new parts of the schema. Servers that start at the same time wait for each
    /// other.
    ///
    /// - Returns: the statements that were run, without those of the server's own tables.
    /// - Throws: ``SyncStoreError`` if an object was changed by hand or would have to be removed, and ``SQLFailure``.
    @discardableResult public func migrate() async throws -> [String] {
        try await database.write { try migrate($0) }
    }

    /// Does the same as ``migrate()`` in the current transaction.
    @discardableResult func migrate(_ db: any SQLConnection) throws -> [String] {
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
        try SchemaTable.note(schema, made: SchemaObject.all(of: checked, db.dialect), db)
        return difference.statements
    }

    /// Compares the store with the schema.
    ///
    /// - Throws: ``SyncStoreError``.
    func difference(from state: SchemaTable.State, _ db: any SQLConnection) throws -> SchemaDifference {
        guard state.version <= ServerTables.version else {
            throw SyncStoreError(
                .newerServer,
                details: [
                    "The database has version \(state.version), and this server supports \(ServerTables.version)."
                ]
            )
        }
        let drift = SchemaTable.drift(from: state.objects, to: try SchemaCatalog.objects(db))
        guard drift.isEmpty else { throw SyncStoreError(.drift, details: drift) }
        let difference = SchemaDifference(
            ofVersion: state.version, from: state.schema, to: schema, checked: checked, made: state.objects,
            dialect: db.dialect)
        guard difference.refusals.isEmpty else { throw SyncStoreError(.destructive, details: difference.refusals) }
        return difference
    }
}

/// An error that prevents a server from using a store, or the move of a store.
public struct SyncStoreError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problems with a store.
    public enum Code: String, Sendable {
        /// A newer server has created or migrated the store.
        case newerServer
        /// An object differs from the one that the server has created.
        case drift
        /// The schema lacks a part of the store, or defines it differently.
        case destructive
        /// An earlier server has created the store, and it was not migrated since.
        case outdated
        /// Another program has the file of the store open.
        case inUse
        /// The file of the store is damaged.
        case damaged
        /// The database that a store moves to has tables.
        case notEmpty
    }

    /// The kind of problem.
    public let code: Code
    /// A sentence for each problem.
    public let details: [String]

    init(_ code: Code, details: [String]) { (self.code, self.details) = (code, details) }

    /// The ``details``, followed by a sentence that says what to do.
    public var description: String {
        let all = details.joined(separator: " ")
        return switch code {
        case .newerServer: "\(all) Use the newer server."
        case .drift:
            "\(all) Devices would miss changes. Restore it as 'lfs-server schema print' shows it, or restore a backup."
        case .destructive:
            "\(all) The server never removes parts of a store. If it is older than the schema, use a newer server. "
                + "Otherwise keep the column or table, or copy its rows into a new store with your own program."
        case .outdated: "\(all) Run 'lfs-server schema migrate' with this file first."
        case .inUse: "\(all) Stop the server and everything else that has the file open."
        case .damaged: "\(all) Restore a backup."
        case .notEmpty:
            "\(all) Use a new database. If the rows are not needed, you can drop the schema with its tables and create "
                + "it again."
        }
    }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
