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
            for table in schema.tables where try !Self.isThere("table", table.name, db) {
                for statement in TableSQL(table: table, dialect: dialect).creation { try db.run(script: statement) }
            }
            for trigger in sharing where try !Self.isThere("trigger", trigger.name, db) {
                try db.run(script: trigger.sql)
            }
        }
    }

    /// Who sees what, as triggers.
    private var sharing: [ScopeSQL.Trigger] {
        ScopeSQL(dialect: dialect).triggers
            + schema.sharing.containers.flatMap { ContainerSQL(container: $0).triggers }
            + (schema.sharing.partners.map { PartnerSQL(partners: $0).triggers } ?? [])
    }

    private static func isThere(_ type: String, _ name: String, _ db: any SQLConnection) throws -> Bool {
        try db.firstText("SELECT name FROM sqlite_master WHERE type = ?1 AND name = ?2", [.text(type), .text(name)])
            != nil
    }
}
