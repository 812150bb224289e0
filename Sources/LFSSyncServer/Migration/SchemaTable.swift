import Foundation
import LFSSystem
import LFSWire

/// `sync_object`, and what `sync_state` has of it: what the server has made.
enum SchemaTable {
    struct State: Sendable {
        let version: Int64
        /// nil before the first.
        let schema: SyncSchema?
        let objects: [SchemaObject.Name: Object]
    }

    struct Object: Sendable {
        let source: String
        let definition: String
    }

    /// What the store is; nil where there is none.
    ///
    /// - Throws: ``SQLFailure``.
    static func state(_ db: any SQLConnection) throws -> State? {
        let catalog = try SchemaCatalog.objects(db)
        guard catalog.keys.contains(where: { $0.kind == "table" && $0.name.hasPrefix("sync_") }) else { return nil }
        for table in ["sync_state", "sync_object"] where catalog[.init(kind: "table", name: table)] == nil {
            throw SyncStoreError(.drift, ["The table '\(table)' is missing."])
        }
        var found: (version: Int64, tables: String)?
        try db.query("SELECT schemaVersion, tables FROM sync_state WHERE id = 1", []) { row in
            if let version = try row.integer(0), let tables = try row.text(1) { found = (version, tables) }
            return false
        }
        guard let found else { throw SyncStoreError(.drift, ["The row of 'sync_state' is missing."]) }
        // What a newer server has noted may be another thing.
        guard found.version <= ServerTables.version else {
            return State(version: found.version, schema: nil, objects: [:])
        }
        var objects: [SchemaObject.Name: Object] = [:]
        try db.query("SELECT kind, name, source, definition FROM sync_object", []) { row in
            if let kind = try row.text(0), let name = try row.text(1), let source = try row.text(2),
                let definition = try row.text(3)
            {
                objects[.init(kind: kind, name: name)] = Object(source: source, definition: definition)
            }
            return true
        }
        return State(version: found.version, schema: try schema(found.tables), objects: objects)
    }

    private static func schema(_ text: String) throws -> SyncSchema? {
        if text.isEmpty { return nil }
        do {
            return try JSONDecoder().decode(SyncSchema.self, from: Data(text.utf8))
        } catch {
            throw SyncStoreError(.drift, ["The schema in 'sync_state' cannot be read."])
        }
    }

    /// Notes what has just been made, and that it is a store.
    static func begin(_ db: any SQLConnection) throws -> State {
        try db.execute(
            """
            INSERT INTO sync_state (id, historyID, schemaVersion) VALUES (1, ?1, ?2) ON CONFLICT (id) DO NOTHING
            """, [.text(FileID.make().text), .integer(ServerTables.version)])
        var objects: [SchemaObject.Name: Object] = [:]
        for (name, definition) in try SchemaCatalog.objects(db) where isServers(name) {
            objects[name] = Object(source: "", definition: definition)
            try insert(name, "", definition, db)
        }
        return State(version: ServerTables.version, schema: nil, objects: objects)
    }

    /// Of what is there before the devices' tables are.
    private static func isServers(_ name: SchemaObject.Name) -> Bool {
        name.name.hasPrefix("sync_") || (name.kind == "function" && name.name.hasPrefix("lfs_real("))
    }

    /// Says that the store is another one from now on: what devices know of it may be more than it has.
    static func renewHistory(_ db: any SQLConnection) throws {
        try db.execute("UPDATE sync_state SET historyID = ?1 WHERE id = 1", [.text(FileID.make().text)])
    }

    /// Notes a schema and what was made for it.
    static func note(_ schema: SyncSchema, _ made: [SchemaObject], _ db: any SQLConnection) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(schema), as: UTF8.self)
        try db.execute(
            "UPDATE sync_state SET tables = ?1, schemaVersion = ?2 WHERE id = 1",
            [.text(text), .integer(ServerTables.version)])
        try db.execute("DELETE FROM sync_object WHERE source <> ''", [])
        let catalog = try SchemaCatalog.objects(db)
        for object in made {
            guard let definition = catalog[object.name] else {
                throw SQLFailure(.unusable, "The \(object.name) was not made.")
            }
            try insert(object.name, object.source, definition, db)
        }
    }

    private static func insert(
        _ name: SchemaObject.Name, _ source: String, _ definition: String, _ db: any SQLConnection
    ) throws {
        try db.execute(
            "INSERT INTO sync_object (kind, name, source, definition) VALUES (?1, ?2, ?3, ?4)",
            [.text(name.kind), .text(name.name), .text(source), .text(definition)])
    }

    /// A sentence for each object that is not as it was made. What others have beside them is theirs.
    static func drift(from noted: [SchemaObject.Name: Object], to catalog: [SchemaObject.Name: String]) -> [String] {
        noted.sorted { $0.key < $1.key }.compactMap { name, object in
            switch catalog[name] {
            case nil: "The \(name) is missing."
            case object.definition?: nil
            case _?: "The \(name) is another than the server has made."
            }
        }
    }
}
