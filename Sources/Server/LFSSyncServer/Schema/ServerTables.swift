/// The SQL of the server's own tables, besides those of the devices.
enum ServerTables {
    /// The version of the tables below and of the statements of synced tables. Each change of them raises it, except
    /// for a ``SchemaAddition``. A server changes nothing in a store that a newer one has migrated.
    static let version: Int64 = 4

    /// The version of the oldest server that can use these tables. A release raises it only if it no longer needs the
    /// servers that run during its own rollout, such as those of the release before.
    static let oldestVersion: Int64 = 4

    /// Returns statements that create the tables and their functions.
    static func scripts(_ dialect: SQLDialect) -> [String] {
        [dialect.tables(script)] + (dialect == .postgres ? [PostgresOrder.script] : [])
    }

    /// Returns statements that add to a store of an earlier server what the tables below have.
    ///
    /// - Parameter version: the version of the store.
    static func additions(since version: Int64, dialect: SQLDialect) -> [String] {
        let times = ["createdAt", "updatedAt"].map {
            "ALTER TABLE sync_checkpoint ADD COLUMN \($0) BIGINT NOT NULL DEFAULT 0"
        }
        let counters = ["rowCount", "rowBytes", "fileBytes"].map {
            "ALTER TABLE sync_scope ADD COLUMN \($0) BIGINT NOT NULL DEFAULT 0"
        }
        let limits = AccountLimit.allCases.map { "ALTER TABLE sync_account ADD COLUMN \($0.column) BIGINT" }
        let text = dialect == .sqlite ? "TEXT" : "TEXT COLLATE \"C\""
        let rights = ["idleTime BIGINT", "endsAt BIGINT", "isReadOnly INTEGER NOT NULL DEFAULT 0", "types \(text)"].map
        {
            "ALTER TABLE sync_session ADD COLUMN \($0)"
        }
        let marks = [
            "markCount BIGINT NOT NULL DEFAULT 0", "markID \(text) NOT NULL DEFAULT ''",
            "markCluster \(text) NOT NULL DEFAULT ''",
        ]
        .map { "ALTER TABLE sync_state ADD COLUMN \($0)" }
        // A session of an earlier server keeps its end.
        let end = "UPDATE sync_session SET endsAt = expiresAt"
        return (version < 3 ? times : []) + (version < 4 ? counters + limits + rights + [end] + marks : [])
    }

    /// Returns statements that fill the additions, after the tables and triggers have their new form.
    ///
    /// - Parameter version: the version of the store.
    static func fillings(since version: Int64, schema: CheckedSchema, dialect: SQLDialect) -> [String] {
        version < 4 ? [UsageSQL.recount("substr(id, 1, 8) = 'account/'", schema: schema, dialect: dialect)] : []
    }

    /// Returns statements that create the additions of version 2: objects whose files were deleted, until the storage
    /// has confirmed their removal. They are recorded as part of the schema, so that a store of version 1 receives
    /// them.
    static func removal(_ dialect: SQLDialect) -> [String] {
        let table = """
            CREATE TABLE "sync_removal" (
                key TEXT PRIMARY KEY NOT NULL,
                -- The account that owns the namespace of the key.
                accountID TEXT NOT NULL,
                -- Milliseconds since 1970.
                notBefore BIGINT NOT NULL,
                tries BIGINT NOT NULL DEFAULT 0,
                -- 1 once the storage was asked to delete the object.
                isAsked INTEGER NOT NULL DEFAULT 0
            )
            """
        return [dialect.tables(table), "CREATE INDEX \"sync_removal_due\" ON \"sync_removal\"(notBefore)"]
    }

    /// Returns a statement that creates the table of the steps that servers have done. Stores of earlier servers lack
    /// it.
    static func step(_ dialect: SQLDialect) -> String {
        dialect.tables(
            """
            CREATE TABLE "sync_step" (
                name TEXT PRIMARY KEY NOT NULL
            )
            """)
    }

    /// The statements that create missing tables. Streams look up many rows of two tables by key, so these tables are
    /// stored in the order of their keys. Stores of an earlier server are a little slower.
    private static let script = """
        CREATE TABLE IF NOT EXISTS sync_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- A new id after a restore, because devices may then know more than the server.
            historyID TEXT NOT NULL,
            schemaVersion INTEGER NOT NULL,
            -- The latest clock of the deleted scopes. A scope that is created again starts after it.
            scopeClock BIGINT NOT NULL DEFAULT 0,
            -- The schema of the tables, as JSON.
            tables TEXT NOT NULL DEFAULT '',
            -- The last mark of a server. It shows an older copy of the database.
            markCount BIGINT NOT NULL DEFAULT 0,
            markID TEXT NOT NULL DEFAULT '',
            -- The PostgreSQL cluster and its timeline at the last mark.
            markCluster TEXT NOT NULL DEFAULT ''
        );
        -- The objects that the server has created, so that each start detects changes by others.
        CREATE TABLE IF NOT EXISTS sync_object (
            kind TEXT NOT NULL,
            name TEXT NOT NULL,
            -- The statement that created the object. Empty for objects that every schema has.
            source TEXT NOT NULL,
            -- The definition in the database's catalog.
            definition TEXT NOT NULL,
            PRIMARY KEY (kind, name)
        );
        CREATE TABLE IF NOT EXISTS sync_account (
            id TEXT PRIMARY KEY NOT NULL,
            name TEXT NOT NULL UNIQUE,
            -- The account's own limits. NULL stands for the limit of the server.
            rowLimit BIGINT,
            rowByteLimit BIGINT,
            fileByteLimit BIGINT,
            sessionLimit BIGINT
        );
        -- The unit of order. Ids of changes ascend within a scope in the order of the commits.
        CREATE TABLE IF NOT EXISTS sync_scope (
            id TEXT PRIMARY KEY NOT NULL,
            clock BIGINT NOT NULL DEFAULT 0,
            counter BIGINT NOT NULL DEFAULT 0,
            head TEXT NOT NULL DEFAULT '',
            -- Deletions up to this position are no longer recorded.
            prunedThrough TEXT NOT NULL DEFAULT '',
            -- The rows of the own scope of an account. Their bytes do not include those of files.
            rowCount BIGINT NOT NULL DEFAULT 0,
            rowBytes BIGINT NOT NULL DEFAULT 0,
            fileBytes BIGINT NOT NULL DEFAULT 0
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
            -- SHA-256 of the token. The token itself is not stored.
            tokenHash TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL DEFAULT '',
            epoch BIGINT NOT NULL DEFAULT 1,
            historyID TEXT NOT NULL,
            -- The reason why the session needs a full resync. NULL if it needs none.
            resetReason TEXT,
            lastBatch BIGINT NOT NULL DEFAULT 0,
            lastBatchID TEXT NOT NULL DEFAULT '',
            -- -1 accepts any next number, because the device or the server is an older copy of itself.
            lastSequence BIGINT NOT NULL DEFAULT 0,
            -- The beginning of the object keys of the device's files. Empty until it has created a file.
            namespace TEXT NOT NULL DEFAULT '',
            -- Milliseconds since 1970. The last one is NULL for a session that ends only when it is revoked. It follows
            -- from the next two columns at each use.
            createdAt BIGINT NOT NULL DEFAULT 0,
            seenAt BIGINT NOT NULL DEFAULT 0,
            expiresAt BIGINT,
            -- The milliseconds without use after which the session expires. NULL for none.
            idleTime BIGINT,
            -- The time at which it ends in any case. NULL for none.
            endsAt BIGINT,
            -- 1 for a session that may only read.
            isReadOnly INTEGER NOT NULL DEFAULT 0,
            -- The names of its types between commas. NULL for all.
            types TEXT
        );
        CREATE INDEX IF NOT EXISTS sync_session_namespace ON sync_session(namespace);
        CREATE TABLE IF NOT EXISTS sync_namespace (
            namespace TEXT PRIMARY KEY NOT NULL,
            -- No foreign key, because the objects of a deleted account may still exist.
            accountID TEXT NOT NULL
        );
        CREATE INDEX IF NOT EXISTS sync_session_account ON sync_session(accountID);
        CREATE TABLE IF NOT EXISTS sync_checkpoint (
            sessionID TEXT NOT NULL REFERENCES sync_session(id) ON DELETE CASCADE,
            scopeID TEXT NOT NULL,
            typeName TEXT NOT NULL,
            -- Empty if the type has begun and nothing is acknowledged yet.
            position TEXT NOT NULL,
            -- The head at the beginning. Deletions up to there do not concern this session.
            begunAt TEXT NOT NULL DEFAULT '',
            -- The reason for a full resync, until the device has acknowledged a part of it. Otherwise NULL.
            resetReason TEXT,
            -- Milliseconds since 1970: when the session began the type, and when it last acknowledged or began it. 0 if
            -- an earlier server has recorded neither.
            createdAt BIGINT NOT NULL DEFAULT 0,
            updatedAt BIGINT NOT NULL DEFAULT 0,
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
        -- The rows that a shared scope contains.
        CREATE TABLE IF NOT EXISTS sync_member (
            scopeID TEXT NOT NULL REFERENCES sync_scope(id) ON DELETE CASCADE,
            tableName TEXT NOT NULL,
            key TEXT NOT NULL,
            -- An empty text requests the scope's next position.
            updateID TEXT NOT NULL,
            isDeleted INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (scopeID, tableName, key)
        );
        CREATE INDEX IF NOT EXISTS sync_member_position ON sync_member(scopeID, tableName, updateID);
        CREATE INDEX IF NOT EXISTS sync_member_row ON sync_member(tableName, key);
        -- The results of mutations, for devices that have not received them.
        CREATE TABLE IF NOT EXISTS sync_mutation (
            sessionID TEXT NOT NULL REFERENCES sync_session(id) ON DELETE CASCADE,
            sequence BIGINT NOT NULL,
            id TEXT NOT NULL,
            result TEXT NOT NULL,
            PRIMARY KEY (sessionID, sequence)
        );
        """
}
