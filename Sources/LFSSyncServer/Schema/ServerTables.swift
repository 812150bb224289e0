/// What the server keeps beside the devices' tables.
enum ServerTables {
    /// Of the tables below. A server leaves alone what a newer one has made.
    static let version: Int64 = 2

    /// Statements that make them, and what they need besides.
    static func scripts(_ dialect: SQLDialect) -> [String] {
        [dialect.tables(script)] + (dialect == .postgres ? [PostgresOrder.script] : [])
    }

    /// Statements that make what version 2 has besides: objects whose files were deleted, until the storage has
    /// confirmed that they are gone. Noted as what a schema needs, so that a store of version 1 comes to have it.
    static func removal(_ dialect: SQLDialect) -> [String] {
        let table = """
            CREATE TABLE "sync_removal" (
                key TEXT PRIMARY KEY NOT NULL,
                -- Who owns the namespace of the key.
                accountID TEXT NOT NULL,
                -- Milliseconds since 1970.
                notBefore BIGINT NOT NULL,
                tries BIGINT NOT NULL DEFAULT 0,
                -- Whether the storage was asked.
                isAsked INTEGER NOT NULL DEFAULT 0
            )
            """
        return [dialect.tables(table), "CREATE INDEX \"sync_removal_due\" ON \"sync_removal\"(notBefore)"]
    }

    /// Statements that make them where they are not there. Two tables of which each stream looks at many rows by their
    /// keys are kept by these: stores that an earlier server has made are a little slower.
    private static let script = """
        CREATE TABLE IF NOT EXISTS sync_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- Another one after a restore: devices may know more than the server then.
            historyID TEXT NOT NULL,
            schemaVersion INTEGER NOT NULL,
            -- The latest of those of scopes that are gone: one that comes again begins behind it.
            scopeClock BIGINT NOT NULL DEFAULT 0,
            -- The schema that the tables are of, as JSON.
            tables TEXT NOT NULL DEFAULT ''
        );
        -- What the server has made, so that every start sees what somebody else has changed.
        CREATE TABLE IF NOT EXISTS sync_object (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            -- The statement that made it; empty for those of every schema.
            source TEXT NOT NULL,
            -- As the database's catalog has it.
            definition TEXT NOT NULL,
            PRIMARY KEY (kind, name)
        );
        CREATE TABLE IF NOT EXISTS sync_account (
            id TEXT PRIMARY KEY NOT NULL,
            name TEXT NOT NULL UNIQUE
        );
        -- The unit of order: ids of changes ascend within it in the order of the commits.
        CREATE TABLE IF NOT EXISTS sync_scope (
            id TEXT PRIMARY KEY NOT NULL,
            clock BIGINT NOT NULL DEFAULT 0,
            counter BIGINT NOT NULL DEFAULT 0,
            head TEXT NOT NULL DEFAULT '',
            -- Deletions up to here are forgotten.
            prunedThrough TEXT NOT NULL DEFAULT ''
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS sync_grant (
            scopeID TEXT NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE,
            accountID TEXT NOT NULL REFERENCES sync_account(id) ON DELETE CASCADE,
            role TEXT NOT NULL CHECK (role = 'viewer' OR role = 'editor' OR role = 'owner'),
            PRIMARY KEY (accountID, scopeID)
        );
        CREATE INDEX IF NOT EXISTS sync_grant_scope ON sync_grant(scopeID);
        CREATE TABLE IF NOT EXISTS sync_session (
            id TEXT PRIMARY KEY NOT NULL,
            accountID TEXT NOT NULL REFERENCES sync_account(id) ON DELETE CASCADE,
            -- SHA-256 of the token, which is nowhere.
            tokenHash TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL DEFAULT '',
            epoch BIGINT NOT NULL DEFAULT 1,
            historyID TEXT NOT NULL,
            -- Why the session has to begin anew; NULL when it has not.
            resetReason TEXT,
            lastBatch BIGINT NOT NULL DEFAULT 0,
            lastBatchID TEXT NOT NULL DEFAULT '',
            -- -1 takes any next one: device or server are an older copy of themselves.
            lastSequence BIGINT NOT NULL DEFAULT 0,
            -- With what the object keys of the device's files begin; empty until it has made one.
            namespace TEXT NOT NULL DEFAULT '',
            -- Milliseconds since 1970. The last is NULL for a session that ends only when it is revoked.
            createdAt BIGINT NOT NULL DEFAULT 0,
            seenAt BIGINT NOT NULL DEFAULT 0,
            expiresAt BIGINT
        );
        CREATE INDEX IF NOT EXISTS sync_session_namespace ON sync_session(namespace);
        CREATE TABLE IF NOT EXISTS sync_namespace (
            namespace TEXT PRIMARY KEY NOT NULL,
            -- Whether the account is still there or not: its objects may be.
            accountID TEXT NOT NULL
        );
        CREATE INDEX IF NOT EXISTS sync_session_account ON sync_session(accountID);
        CREATE TABLE IF NOT EXISTS sync_checkpoint (
            sessionID TEXT NOT NULL REFERENCES sync_session(id) ON DELETE CASCADE,
            scopeID TEXT NOT NULL,
            typeName TEXT NOT NULL,
            -- Empty when it has begun, and nothing was acknowledged.
            position TEXT NOT NULL,
            -- The head when it began: deletions up to there are nothing to this session.
            begunAt TEXT NOT NULL DEFAULT '',
            -- Why the device begins it anew, until it has acknowledged something of it; NULL when it does not.
            resetReason TEXT,
            PRIMARY KEY (sessionID, scopeID, typeName)
        ) WITHOUT ROWID;
        CREATE TABLE IF NOT EXISTS sync_tombstone (
            scopeID TEXT NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE,
            tableName TEXT NOT NULL,
            key TEXT NOT NULL,
            updateID TEXT NOT NULL,
            PRIMARY KEY (scopeID, tableName, key)
        );
        CREATE INDEX IF NOT EXISTS sync_tombstone_position ON sync_tombstone(scopeID, tableName, updateID);
        -- What a shared scope contains.
        CREATE TABLE IF NOT EXISTS sync_member (
            scopeID TEXT NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE,
            tableName TEXT NOT NULL,
            key TEXT NOT NULL,
            -- Empty asks for the scope's next position.
            updateID TEXT NOT NULL,
            isDeleted INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (scopeID, tableName, key)
        );
        CREATE INDEX IF NOT EXISTS sync_member_position ON sync_member(scopeID, tableName, updateID);
        CREATE INDEX IF NOT EXISTS sync_member_row ON sync_member(tableName, key);
        -- What was answered, for whoever has not heard it.
        CREATE TABLE IF NOT EXISTS sync_mutation (
            sessionID TEXT NOT NULL REFERENCES sync_session(id) ON DELETE CASCADE,
            sequence BIGINT NOT NULL,
            id TEXT NOT NULL,
            result TEXT NOT NULL,
            PRIMARY KEY (sessionID, sequence)
        );
        """
}
