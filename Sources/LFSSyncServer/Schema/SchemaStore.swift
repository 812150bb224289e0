import LFSSystem

/// Makes the server's tables, and those of a schema.
struct SchemaStore: Sendable {
    let schema: CheckedSchema
    let dialect: SQLDialect

    /// - Throws: ``SQLFailure``.
    func prepare(_ database: any SQLDatabase) async throws {
        try await database.write { db in
            try db.run(script: ServerTables.script)
            try db.execute(
                """
                INSERT INTO sync_state (id, historyID, schemaVersion) VALUES (1, ?1, 1) ON CONFLICT (id) DO NOTHING
                """, [.text(FileID.make().text)])
            for table in schema.tables {
                var isThere = false
                try db.query(
                    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", [.text(table.name)]
                ) { _ in
                    isThere = true
                    return false
                }
                if isThere { continue }
                for statement in TableSQL(table: table, dialect: dialect).creation { try db.run(script: statement) }
            }
        }
    }
}
