public import Foundation
import Logging

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
    private let version: StoreVersion
    private let logger: Logger
    private let clock: any Clock<Duration>

    /// Creates a store without opening the database.
    ///
    /// - Throws: ``SyncSchemaError``.
    public init(_ database: any SQLDatabase, schema: SyncSchema) throws {
        let silent = Logger(label: "lfs.sync") { _ in SwiftLogNoOpLogHandler() }
        try self.init(database, schema: schema, version: .current, logger: silent)
    }

    /// - Parameters:
    ///   - version: the version of the server.
    ///   - logger: receives the beginnings and ends of steps that may take long.
    ///   - clock: the clock of the wait for the steps of another server.
    init(
        _ database: any SQLDatabase, schema: SyncSchema, version: StoreVersion, logger: Logger,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws {
        self.database = database
        self.schema = schema
        self.version = version
        self.logger = logger
        self.clock = clock
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
            guard let state = try SchemaTable.state(db, version: version) else {
                return try Self.statements(for: schema, dialect: dialect)
            }
            let changes = try difference(from: state, db)
            let steps = try openSteps(in: state, difference: changes, db)
            return changes.statements + steps.map { $0.statement(dialect) }
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
    /// On PostgreSQL, changes that may take long run after the others, without a time limit, and other servers can use
    /// the store in the meantime. One server at a time runs them, and servers of the same version wait for it.
    ///
    /// A store that a newer server has migrated stays as it is, if this server can use it.
    ///
    /// - Returns: the statements that were run, without those of the server's own tables.
    /// - Throws: ``SyncStoreError`` if the store needs a newer server, an object was changed by hand or would have to
    ///   be removed, and ``SQLFailure``.
    @discardableResult public func migrate() async throws -> [String] {
        let result = try await database.write { try change($0) }
        return try await result.statements + run(result.steps)
    }

    /// Does the same as ``migrate()`` in the current transaction, without the steps that may take long.
    @discardableResult func migrate(_ db: any SQLConnection) throws -> [String] { try change(db).statements }

    /// - Returns: the statements that were run, and the steps that no server has done.
    private func change(_ db: any SQLConnection) throws -> (statements: [String], steps: [MigrationStep]) {
        try PostgresOrder.takeTurn(db)
        let state: SchemaTable.State
        if let found = try SchemaTable.state(db, version: version) {
            state = found
        } else {
            for script in ServerTables.scripts(db.dialect) { try db.run(script: script) }
            state = try SchemaTable.begin(db)
        }
        let difference = try difference(from: state, db)
        if isBehind(state) {
            logger.notice("A newer server has migrated the database, which stays as it is.")
            return ([], [])
        }
        let steps = try openSteps(in: state, difference: difference, db)
        let isCurrent = state.schema == schema && state.version == version.number
        if isCurrent, difference.statements.isEmpty { return ([], steps) }
        try PostgresOrder.beginChange(db)
        for statement in difference.statements { try db.run(script: statement) }
        let made = SchemaObject.all(of: checked, db.dialect).filter { !difference.indexes.contains($0) }
        try SchemaTable.note(schema, version: version, after: state, made: made, db)
        return (difference.statements, steps)
    }

    /// Returns true if a server of a newer version or with a later schema has migrated the store. This server then uses
    /// the store as it is.
    private func isBehind(_ state: SchemaTable.State) -> Bool {
        state.version > version.number || state.schema != schema && state.earlierSchema == schema
    }

    /// Compares the store with the schema.
    ///
    /// - Throws: ``SyncStoreError``.
    func difference(from state: SchemaTable.State, _ db: any SQLConnection) throws -> SchemaDifference {
        guard state.oldestVersion <= version.number else {
            throw SyncStoreError(
                .newerServer,
                details: [
                    """
                    The database has version \(state.version), for servers of version \(state.oldestVersion) and \
                    newer. This server has version \(version.number).
                    """
                ]
            )
        }
        let drift = SchemaTable.drift(from: state.objects, to: try SchemaCatalog.objects(db))
        guard drift.isEmpty else { throw SyncStoreError(.drift, details: drift) }
        if isBehind(state) {
            guard [state.schema, state.earlierSchema].contains(schema) else {
                throw SyncStoreError(
                    .destructive, details: ["A newer server has migrated the database for another schema."])
            }
            return SchemaDifference()
        }
        let difference = SchemaDifference(
            ofVersion: state.version, additions: state.version < version.number ? version.additions : [],
            from: state.schema, to: schema, checked: checked, made: state.objects, dialect: db.dialect)
        guard difference.refusals.isEmpty else { throw SyncStoreError(.destructive, details: difference.refusals) }
        return difference
    }

    // MARK: Steps

    /// The pause between two looks at the steps that another server runs.
    private static let pause = Duration.seconds(1)

    /// Returns the steps that no server has done.
    private func openSteps(
        in state: SchemaTable.State, difference: SchemaDifference, _ db: any SQLConnection
    ) throws -> [MigrationStep] {
        let indexes = difference.indexes.map { MigrationStep.index($0) }
        if isBehind(state) || version.steps.isEmpty { return indexes }
        return try indexes + undone(version.steps, objects: state.objects, db)
    }

    private func undone(
        _ steps: [MigrationStep], objects: [SchemaObject.Name: SchemaTable.Object], _ db: any SQLConnection
    ) throws -> [MigrationStep] {
        let names = try SchemaTable.steps(with: objects, db)
        return steps.filter { !$0.isDone(objects: objects, names: names) }
    }

    private func openSteps(_ db: any SQLConnection) throws -> [MigrationStep] {
        guard let state = try SchemaTable.state(db, version: version) else { return [] }
        return try openSteps(in: state, difference: try difference(from: state, db), db)
    }

    /// Runs steps, or waits until another server has run them.
    ///
    /// - Returns: the statements that this server has run.
    private func run(_ steps: [MigrationStep]) async throws -> [String] {
        var steps = steps
        var isReported = false
        while !steps.isEmpty {
            let statements = try await database.maintain { [steps] db in
                // Another server may just have done them.
                try undone(steps, objects: try SchemaTable.objects(db), db).map { try run($0, db) }
            }
            if let statements { return statements }
            if !isReported {
                logger.notice("Another server migrates the database. This server waits until it has done so.")
                isReported = true
            }
            try await clock.sleep(for: Self.pause)
            steps = try await database.read { try openSteps($0) }
        }
        return []
    }

    /// - Returns: the statement of the step.
    private func run(_ step: MigrationStep, _ db: any SQLConnection) throws -> String {
        logger.notice(
            "A step of the migration begins. Servers can use the database in the meantime.",
            metadata: ["step": "\(step.name)"])
        try step.run(db)
        logger.notice("A step of the migration has ended.", metadata: ["step": "\(step.name)"])
        return step.statement(db.dialect)
    }
}

/// An error that prevents a server from using a store, or the move of a store.
public struct SyncStoreError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of problems with a store.
    public enum Code: String, Sendable {
        /// A newer server has created or migrated the store, and this server cannot use it.
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
        case .newerServer:
            "\(all) Use the newer server. To return to this one, restore a backup that is older than the migration."
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
