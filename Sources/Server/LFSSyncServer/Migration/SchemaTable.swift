import Foundation
import LFSSystem
import LFSWire

/// The tables `sync_object` and `sync_step`, and the row of `sync_state`. They record the objects that the server has
/// created, and the servers that can use the store.
enum SchemaTable {
    struct State: Sendable {
        let version: Int64
        /// The version of the oldest server that can use the store.
        let oldestVersion: Int64
        /// The recorded schema, or nil before the first one.
        let schema: SyncSchema?
        /// The schema before the last change, with which a server can still use the store, or nil.
        let earlierSchema: SyncSchema?
        let objects: [SchemaObject.Name: Object]
    }

    struct Object: Sendable {
        let source: String
        let definition: String
    }

    /// The function that gives rows their positions on PostgreSQL.
    static let stamp = SchemaObject.Name(kind: "function", name: "sync_stamp()")
    /// The function that notes changes for open streams on PostgreSQL. Stores of earlier servers lack it.
    static let notice = SchemaObject.Name(kind: "function", name: PostgresNotices.function)
    /// The table of the steps that servers have done. Stores of earlier servers lack it.
    private static let stepTable = SchemaObject.Name(kind: "table", name: "sync_step")

    /// Returns the state of the store, or nil if the database contains no store. A store that a server cannot use has
    /// neither objects nor schemas.
    ///
    /// - Parameter version: the version of the server.
    /// - Throws: ``SyncStoreError``, ``SQLFailure``.
    static func state(_ db: any SQLConnection, version: StoreVersion = .current) throws -> State? {
        let catalog = try SchemaCatalog.objects(db)
        guard catalog.keys.contains(where: { $0.kind == "table" && $0.name.hasPrefix("sync_") }) else { return nil }
        for table in ["sync_state", "sync_object"] where catalog[.init(kind: "table", name: table)] == nil {
            throw SyncStoreError(.drift, details: ["The table '\(table)' is missing."])
        }
        var found: (version: Int64, tables: String)?
        try db.query("SELECT schemaVersion, tables FROM sync_state WHERE id = 1", arguments: []) { row in
            if let version = try row.integer(0), let tables = try row.text(1) { found = (version, tables) }
            return false
        }
        guard let found else { throw SyncStoreError(.drift, details: ["The table 'sync_state' has no row."]) }
        var range: (oldestVersion: Int64, earlierTables: String) = (found.version, "")
        if catalog[stepTable] != nil, let recorded = try rangeOfServers(db) { range = recorded }
        // The records of a newer server may have a different meaning.
        guard range.oldestVersion <= version.number else {
            return State(
                version: found.version, oldestVersion: range.oldestVersion, schema: nil, earlierSchema: nil,
                objects: [:])
        }
        return State(
            version: found.version, oldestVersion: range.oldestVersion, schema: try schema(found.tables),
            earlierSchema: try schema(range.earlierTables), objects: try objects(db))
    }

    /// Returns the objects that servers have recorded.
    static func objects(_ db: any SQLConnection) throws -> [SchemaObject.Name: Object] {
        var objects: [SchemaObject.Name: Object] = [:]
        try db.query("SELECT kind, name, source, definition FROM sync_object", arguments: []) { row in
            if let kind = try row.text(0), let name = try row.text(1), let source = try row.text(2),
                let definition = try row.text(3)
            {
                objects[.init(kind: kind, name: name)] = Object(source: source, definition: definition)
            }
            return true
        }
        return objects
    }

    /// Returns the version of the oldest server that can use the store, and the schema of servers before the last
    /// change.
    private static func rangeOfServers(
        _ db: any SQLConnection
    ) throws -> (oldestVersion: Int64, earlierTables: String)? {
        var found: (oldestVersion: Int64, earlierTables: String)?
        try db.query("SELECT oldestVersion, earlierTables FROM sync_state WHERE id = 1", arguments: []) { row in
            if let version = try row.integer(0), let tables = try row.text(1) { found = (version, tables) }
            return false
        }
        return found
    }

    private static func schema(_ text: String) throws -> SyncSchema? {
        if text.isEmpty { return nil }
        do {
            return try JSONDecoder().decode(SyncSchema.self, from: Data(text.utf8))
        } catch {
            throw SyncStoreError(.drift, details: ["The schema in 'sync_state' cannot be read."])
        }
    }

    /// Records the objects that were just created, and marks the database as a store.
    static func begin(_ db: any SQLConnection) throws -> State {
        try db.execute(
            """
            INSERT INTO sync_state (id, historyID, schemaVersion) VALUES (1, ?1, ?2) ON CONFLICT (id) DO NOTHING
            """, arguments: [.text(FileID.make().text), .integer(ServerTables.version)])
        var objects: [SchemaObject.Name: Object] = [:]
        for (name, definition) in try SchemaCatalog.objects(db) where isServers(name) {
            objects[name] = Object(source: "", definition: definition)
            try insert(name, source: "", definition: definition, db)
        }
        return State(
            version: ServerTables.version, oldestVersion: ServerTables.oldestVersion, schema: nil, earlierSchema: nil,
            objects: objects)
    }

    /// Returns true for an object that exists before the devices' tables are created.
    private static func isServers(_ name: SchemaObject.Name) -> Bool {
        name.name.hasPrefix("sync_") || (name.kind == "function" && name.name.hasPrefix("lfs_real("))
    }

    /// Gives the store a new history. Devices may then know more than the store contains.
    static func renewHistory(_ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_state SET historyID = ?1, markCount = markCount + ?2 WHERE id = 1",
            arguments: [.text(FileID.make().text), .integer(SyncHistoryMark.leap)])
    }

    /// Returns the last mark of the store, and the cluster in which the store received it. Other transactions that give
    /// the store a mark wait.
    static func history(_ db: any SQLConnection) throws -> (count: Int64, id: String, cluster: String) {
        var found: (count: Int64, id: String, cluster: String)?
        let statement = "SELECT s.markCount, s.markID, s.markCluster FROM sync_state s WHERE s.id = 1"
        try db.query(statement + db.dialect.forChange, arguments: []) { row in
            found = (try row.integer(0) ?? 0, try row.text(1) ?? "", try row.text(2) ?? "")
            return false
        }
        guard let found else { throw SQLFailure(.unusable, message: "The row of sync_state is missing.") }
        return found
    }

    static func note(_ mark: SyncHistoryMark, cluster: String, _ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_state SET markCount = ?1, markID = ?2, markCluster = ?3 WHERE id = 1",
            arguments: [.integer(mark.count), .text(mark.id), .text(cluster)])
    }

    /// Records a schema, the version of the server's own tables, and the objects that were created.
    ///
    /// - Parameters:
    ///   - state: the state before. Statements of the server may have changed its objects since.
    ///   - made: the objects that the schema needs.
    static func note(
        _ schema: SyncSchema, version: StoreVersion, after state: State, made: [SchemaObject], _ db: any SQLConnection
    ) throws {
        let earlier = try earlierSchema(before: schema, state: state).map { try text(of: $0) } ?? ""
        try db.execute(
            """
            UPDATE sync_state SET tables = ?1, schemaVersion = ?2, oldestVersion = ?3, earlierTables = ?4 WHERE id = 1
            """,
            arguments: [
                .text(try text(of: schema)), .integer(version.number), .integer(version.oldest), .text(earlier),
            ])
        try db.execute("DELETE FROM sync_object WHERE source <> ''", arguments: [])
        let catalog = try SchemaCatalog.objects(db)
        for object in made {
            guard let definition = catalog[object.name] else {
                throw SQLFailure(.unusable, message: "The \(object.name) was not created.")
            }
            try insert(object.name, source: object.source, definition: definition, db)
        }
        let own = state.objects.filter { $0.value.source.isEmpty }.map(\.key)
        for name in own + later + SchemaAddition.names(db.dialect) {
            guard let definition = catalog[name], definition != state.objects[name]?.definition else { continue }
            // Without a source, so that an earlier server, which does not know it by one, leaves it where it is.
            try insert(name, source: "", definition: definition, db)
        }
    }

    /// Returns the schema with which servers can use the store after a change to another schema. Servers without
    /// knowledge of a sharing rule cannot.
    private static func earlierSchema(before schema: SyncSchema, state: State) -> SyncSchema? {
        guard let old = state.schema, old != schema else { return state.earlierSchema }
        return old.hasSameSharing(as: schema) ? old : nil
    }

    private static func text(of schema: SyncSchema) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(schema), as: UTF8.self)
    }

    /// The objects that an earlier server has not created, or not in this form.
    private static var later: [SchemaObject.Name] {
        [stamp] + PostgresNotices.functions.map { .init(kind: "function", name: $0) }
            + PostgresNotices.triggers.map { .init(kind: "trigger", name: $0) }
    }

    // MARK: Steps

    /// Returns the names of the steps that servers have done, without those that have built an index.
    ///
    /// - Parameter objects: the recorded objects.
    static func steps(
        with objects: [SchemaObject.Name: Object], _ db: any SQLConnection
    ) throws -> Set<String> {
        guard objects[stepTable] != nil else { return [] }
        var names: Set<String> = []
        try db.query("SELECT name FROM sync_step", arguments: []) { row in
            if let name = try row.text(0) { names.insert(name) }
            return true
        }
        return names
    }

    /// Records a step that is done.
    static func note(step name: String, _ db: any SQLConnection) throws {
        try db.execute(
            "INSERT INTO sync_step (name) VALUES (?1) ON CONFLICT (name) DO NOTHING", arguments: [.text(name)])
    }

    /// Records an object that a step has created.
    ///
    /// - Parameter source: the statement of an object that the schema needs. Otherwise empty.
    static func note(_ name: SchemaObject.Name, source: String, _ db: any SQLConnection) throws {
        guard let definition = try SchemaCatalog.objects(db)[name] else {
            throw SQLFailure(.unusable, message: "The \(name) was not created.")
        }
        try insert(name, source: source, definition: definition, db)
    }

    private static func insert(
        _ name: SchemaObject.Name, source: String, definition: String, _ db: any SQLConnection
    ) throws {
        try db.execute(
            """
            INSERT INTO sync_object (kind, name, source, definition) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (kind, name) DO UPDATE SET definition = excluded.definition
            """,
            arguments: [.text(name.kind), .text(name.name), .text(source), .text(definition)])
    }

    /// Returns a sentence for each object that differs from its record. Objects that the server has not created are
    /// ignored.
    static func drift(from noted: [SchemaObject.Name: Object], to catalog: [SchemaObject.Name: String]) -> [String] {
        noted.sorted { $0.key < $1.key }.compactMap { name, object in
            switch catalog[name] {
            case nil: "The \(name) is missing."
            case object.definition?: nil
            case _?: "The \(name) is not the one that the server has created."
            }
        }
    }
}
