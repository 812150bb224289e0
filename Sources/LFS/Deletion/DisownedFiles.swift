import GRDB

/// Deletes the files that their owners have let go of, unless something still refers to them.
struct DisownedFiles: Sendable {
    let runner: BackgroundRunner

    private static let batch = 500

    /// Works off the notes. Each batch is looked at and deleted in one transaction, so no reference can come between.
    func delete() async throws {
        while try await runner.read({ db in try Bool.fetchOne(db, sql: Self.hasNotes) ?? false }) {
            try await runner.write { db in
                let references = try Reference.all(db)
                let ids = try String.fetchAll(db, sql: "SELECT fileID FROM lfs_disowned LIMIT \(Self.batch)")
                for id in ids {
                    if try !references.contains(where: { try $0.holds(id, db) }) {
                        try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [id])
                    }
                    try db.execute(sql: "DELETE FROM lfs_disowned WHERE fileID = ?", arguments: [id])
                }
            }
        }
    }

    static let hasNotes = "SELECT EXISTS (SELECT 1 FROM lfs_disowned)"
}

/// A column whose value keeps a file.
private struct Reference {
    let sql: String

    init(table: String, column: String) {
        sql = """
            SELECT EXISTS (SELECT 1 FROM \(table.quotedDatabaseIdentifier) WHERE \(column.quotedDatabaseIdentifier) = ?)
            """
    }

    func holds(_ id: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db.cachedStatement(sql: sql), arguments: [id]) ?? false
    }

    /// The owners, and foreign keys that would refuse the deletion, some of them only at the commit.
    static func all(_ db: Database) throws -> [Reference] {
        let keys = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name AS tableName, f."from" AS columnName
                FROM sqlite_master m, pragma_foreign_key_list(m.name) f
                WHERE m.type = 'table' AND lower(f."table") = 'lfs_file' AND f.on_delete IN ('NO ACTION', 'RESTRICT')
                """)
        return try FileOwner.all(db).map { Reference(table: $0.table, column: $0.column) }
            + keys.map { Reference(table: $0["tableName"], column: $0["columnName"]) }
    }
}
