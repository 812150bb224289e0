import LFSSystem

/// Makes the tables of a store on PostgreSQL, where there are none.
struct PostgresStore: Sendable {
    let schema: CheckedSchema

    /// - Throws: ``SyncSchemaError``, ``SQLFailure``.
    func prepare(_ db: any SQLConnection) throws {
        guard schema.sharing.containers.isEmpty, schema.sharing.partners == nil else {
            throw SyncSchemaError("", "A store on PostgreSQL has no shared containers and no partners yet: use SQLite.")
        }
        try db.query(PostgresOrder.turn, []) { _ in true }
        // Also what is there already would be locked.
        if try !Self.isThere("sync_state", db) {
            try db.run(script: db.dialect.tables(ServerTables.script))
            try db.run(script: PostgresOrder.script)
        }
        try db.execute(
            """
            INSERT INTO sync_state (id, historyID, schemaVersion) VALUES (1, ?1, ?2) ON CONFLICT (id) DO NOTHING
            """, [.text(FileID.make().text), .integer(ServerTables.version)])
        for table in schema.tables {
            if try Self.isThere(table.name, db) { continue }
            for statement in TableSQL(table: table, dialect: db.dialect).creation { try db.run(script: statement) }
        }
    }

    private static func isThere(_ table: String, _ db: any SQLConnection) throws -> Bool {
        var isThere = false
        try db.query(db.dialect.findsTable, [.text(table)]) { _ in
            isThere = true
            return false
        }
        return isThere
    }
}
