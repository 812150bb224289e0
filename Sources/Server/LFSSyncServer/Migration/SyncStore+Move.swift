extension SyncStore {
    /// Copies the store in an SQLite file to an empty PostgreSQL database, in one transaction.
    ///
    /// Sessions, positions and the history stay the same, so devices continue with the new store. The file is not
    /// changed. Until the end, no server can use it. Do not serve it afterwards, because it lacks later changes.
    ///
    /// - Parameters:
    ///   - path: the file of a stopped server of this version.
    ///   - target: a PostgreSQL database without tables in its current schema.
    /// - Returns: the number of rows of each table, which is the same in both databases.
    /// - Throws: ``SyncStoreError`` if the file is in use, damaged or of another version, or if the target has tables,
    ///   and ``SQLFailure``. After an error, the target is still empty. After ``SQLFailure/Code/unavailable``, it may
    ///   be complete instead, because the connection may have ended during the commit.
    public static func move(fileAt path: String, to target: any SQLDatabase) async throws -> [String: Int64] {
        guard target.dialect == .postgres else {
            throw SQLFailure(.unusable, message: "A store can only be moved to PostgreSQL.")
        }
        let source = try SQLiteSource(path: path)
        // The check may take long. It runs before the transaction, which would be idle.
        try await source.check()
        let store = try SyncStore(target, schema: try source.read { try schema(of: $0) })
        try source.read { try store.requireCurrent($0) }
        return try await target.write { db in
            try PostgresOrder.takeTurn(db)
            try requireEmpty(db)
            try PostgresOrder.liftLimit(db)
            try db.run(script: "SET LOCAL idle_in_transaction_session_timeout = 0")
            try store.migrate(db)
            return try source.read { try StoreCopy(source: $0, target: db).run() }
        }
    }

    private static func schema(of source: any SQLConnection) throws -> SyncSchema {
        guard let state = try SchemaTable.state(source) else {
            throw SQLFailure(.unusable, message: "The file is not a sync database.")
        }
        return state.schema ?? SyncSchema()
    }

    /// Checks that the store in a file is of this server's version, with all objects that the server has created.
    private func requireCurrent(_ source: any SQLConnection) throws {
        guard let state = try SchemaTable.state(source), try difference(from: state, source).statements.isEmpty else {
            throw SyncStoreError(.outdated, details: ["An earlier server has written the file."])
        }
        // This server does not know all of its columns.
        guard state.version <= ServerTables.version else {
            throw SyncStoreError(.newerServer, details: ["A newer server has written the file."])
        }
    }

    private static func requireEmpty(_ db: any SQLConnection) throws {
        let sql = """
            SELECT current_schema()::text || ' has the tables ' || string_agg(c.relname, ', ' ORDER BY c.relname)
            FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
            """
        if let found = try db.firstText(sql, arguments: []) {
            throw SyncStoreError(.notEmpty, details: ["The schema \(found)."])
        }
    }
}
