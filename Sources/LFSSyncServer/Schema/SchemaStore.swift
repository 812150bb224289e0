import LFSSystem

/// Makes the server's tables, and those of a schema.
struct SchemaStore: Sendable {
    let schema: CheckedSchema
    let dialect: SQLDialect

    /// - Throws: ``SQLFailure``.
    func prepare(_ database: any SQLDatabase) async throws {
        try await database.write { db in
            try makeServerTables(db)
            try db.execute(
                """
                INSERT INTO sync_state (id, historyID, schemaVersion) VALUES (1, ?1, 1) ON CONFLICT (id) DO NOTHING
                """, [.text(FileID.make().text)])
            for table in schema.tables {
                if try Self.isThere(table.name, db) { continue }
                for statement in TableSQL(table: table, dialect: dialect).creation { try db.run(script: statement) }
            }
        }
    }

    private func makeServerTables(_ db: any SQLConnection) throws {
        switch dialect {
        case .sqlite: try db.run(script: ServerTables.script)
        case .postgres:
            try db.query(PostgresOrder.turn, []) { _ in true }
            // Also what is there already would be locked.
            guard try !Self.isThere("sync_state", db) else { return }
            try db.run(script: dialect.tables(ServerTables.script))
            try db.run(script: PostgresOrder.script)
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
