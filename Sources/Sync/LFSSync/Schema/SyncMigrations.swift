public import GRDB
import LFSWire

extension DatabaseMigrator {
    /// Registers the migrations of the sync tables. Call it after ``registerLFSMigrations()``.
    public mutating func registerLFSSyncMigrations() {
        registerMigration("lfs.sync.v1") { db in
            try db.execute(sql: SyncTables.creation)
            try SyncedTable.install(SyncType.fileTable, in: db)
        }
        registerMigration("lfs.sync.v2") { db in
            try db.execute(sql: SyncTables.waiting)
            try SyncTables.reinstall(db)
        }
        registerMigration("lfs.sync.v3") { db in
            try db.execute(sql: SyncTables.versions)
            try SyncTables.reinstall(db)
        }
        registerMigration("lfs.sync.v4") { try $0.execute(sql: SyncTables.history) }
    }
}

/// The SQL of the tables that sync keeps in the app's database. These tables are not synced.
enum SyncTables {
    /// Creates the triggers of all installed tables again, after a migration that has changed them.
    static func reinstall(_ db: Database) throws {
        for name in try String.fetchAll(db, sql: "SELECT name FROM lfs_sync_table") {
            do {
                try SyncedTable.install(name, in: db)
            } catch is SyncError {
                // The table no longer exists or can no longer be synced. `SyncClient.open` reports that.
            }
        }
    }

    /// The additions of version 4.
    static let history = """
        -- The identity of the server's history at the last complete stream. NULL if it is not known. After a new
        -- sign-in, it shows that the server has lost nothing.
        ALTER TABLE lfs_sync_state ADD COLUMN history TEXT CHECK (history IS NULL OR typeof(history) = 'text');

        CREATE TRIGGER lfs_sync_reset_history AFTER UPDATE OF isResetting ON lfs_state WHEN NEW.isResetting = 1
        BEGIN
            UPDATE lfs_sync_state SET history = NULL;
        END;
        """

    /// The additions of version 3.
    static let versions = """
        -- The newest version of the rows that this app knows.
        ALTER TABLE lfs_sync_table ADD COLUMN version INTEGER NOT NULL DEFAULT 1
            CHECK (typeof(version) = 'integer' AND version BETWEEN 1 AND 999);
        -- The first version with each column that version 1 lacks, as a JSON object.
        ALTER TABLE lfs_sync_table ADD COLUMN since TEXT NOT NULL DEFAULT '{}' CHECK (typeof(since) = 'text');
        """

    /// The additions of version 2.
    static let waiting = """
        -- The table or `table.column` that the server lacks for this change. NULL if the change can be sent.
        ALTER TABLE lfs_sync_outbox ADD COLUMN waits TEXT CHECK (waits IS NULL OR typeof(waits) = 'text');
        CREATE INDEX lfs_sync_outbox_waiting ON lfs_sync_outbox(waits) WHERE waits IS NOT NULL;

        -- The columns at the last install, as a JSON array. The server may have values of newer columns.
        ALTER TABLE lfs_sync_table ADD COLUMN columns TEXT CHECK (columns IS NULL OR typeof(columns) = 'text');

        -- 1 if a full resync is needed, because a table has new columns.
        ALTER TABLE lfs_sync_state ADD COLUMN isToReset INTEGER NOT NULL DEFAULT 0
            CHECK (isToReset = 0 OR isToReset = 1);

        -- A reset of the device also deletes the records of sync. It deletes them in one transaction with the rows,
        -- because changes that are lost with the rows are recorded until then.
        CREATE TRIGGER lfs_sync_reset AFTER UPDATE OF isResetting ON lfs_state WHEN NEW.isResetting = 1
        BEGIN
            DELETE FROM lfs_sync_outbox;
            DELETE FROM lfs_sync_rejection;
            DELETE FROM lfs_sync_parked;
            DELETE FROM lfs_sync_member;
            DELETE FROM lfs_sync_checkpoint;
            DELETE FROM lfs_sync_seen;
            DELETE FROM lfs_sync_pass;
            DELETE FROM lfs_sync_mark;
            UPDATE lfs_sync_state SET account = NULL, batch = 0, ackBatch = NULL, lastAckBatch = NULL,
                stream = stream + 1, sequence = 0, keepsAll = 0, isToReset = 0;
        END;
        """

    static let creation = """
        CREATE TABLE lfs_sync_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            -- The account that the rows belong to. NULL before the first stream.
            account TEXT CHECK (account IS NULL OR typeof(account) = 'text'),
            -- The number of the last batch of acks. It reveals an older copy of this database.
            batch INTEGER NOT NULL DEFAULT 0 CHECK (typeof(batch) = 'integer' AND batch >= 0),
            -- That batch, until the server has received it: its id and tokens, one per line.
            ackBatch TEXT CHECK (ackBatch IS NULL OR typeof(ackBatch) = 'text'),
            -- The id of the last batch that the server has received.
            lastAckBatch TEXT CHECK (lastAckBatch IS NULL OR typeof(lastAckBatch) = 'text'),
            -- The number of streams that have delivered something. A stream that a later one has replaced ends.
            stream INTEGER NOT NULL DEFAULT 0 CHECK (typeof(stream) = 'integer'),
            -- The sequence number of the last mutation that was frozen.
            sequence INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sequence) = 'integer' AND sequence >= 0),
            -- 1 if the current full resyncs delete no rows, because the server has an older state than this device.
            keepsAll INTEGER NOT NULL DEFAULT 0 CHECK (keepsAll = 0 OR keepsAll = 1)
        );
        INSERT INTO lfs_sync_state (id) VALUES (1);

        -- The synced tables, by their names at the time of the install.
        CREATE TABLE lfs_sync_table (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text')
        );

        -- The positions that this device has reached. Each one is sent until the server has received it.
        CREATE TABLE lfs_sync_checkpoint (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            token TEXT NOT NULL CHECK (typeof(token) = 'text'),
            isAcknowledged INTEGER NOT NULL DEFAULT 0 CHECK (isAcknowledged = 0 OR isAcknowledged = 1),
            PRIMARY KEY (type, scope)
        );
        CREATE INDEX lfs_sync_checkpoint_open ON lfs_sync_checkpoint(isAcknowledged) WHERE isAcknowledged = 0;

        -- The positions that this device had reached before full resyncs. It still has the rows up to there.
        CREATE TABLE lfs_sync_seen (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            token TEXT NOT NULL CHECK (typeof(token) = 'text'),
            PRIMARY KEY (type, scope)
        );

        -- Local changes that are to be pushed. At most one change of each row is not frozen yet.
        CREATE TABLE lfs_sync_outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            key TEXT NOT NULL,
            operation TEXT NOT NULL CHECK (operation = 'put' OR operation = 'patch' OR operation = 'delete'),
            -- 1 if the server may already have the row.
            isKnown INTEGER NOT NULL DEFAULT 0 CHECK (isKnown = 0 OR isKnown = 1),
            -- For a patch, an object with the names of the changed columns.
            columns TEXT NOT NULL DEFAULT '{}' CHECK (typeof(columns) = 'text'),
            -- The base version of the change: the position of the row's type as a token, and the number of the last
            -- earlier change of the row that had not come back. Each is NULL if there was none.
            base TEXT CHECK (base IS NULL OR typeof(base) = 'text'),
            after INTEGER CHECK (after IS NULL OR typeof(after) = 'integer'),
            -- Set when the change is frozen. Every attempt sends the same mutation.
            sequence INTEGER CHECK (sequence IS NULL OR typeof(sequence) = 'integer'),
            mutation TEXT CHECK (mutation IS NULL OR typeof(mutation) = 'text'),
            -- The incoming change of the row since then, as JSON. Empty for a deletion, NULL if there is none.
            came TEXT CHECK (came IS NULL OR typeof(came) = 'text'),
            -- The position that the server gave the change. The entry stays until the row arrives from there.
            appliedAt TEXT CHECK (appliedAt IS NULL OR typeof(appliedAt) = 'text')
        );
        CREATE INDEX lfs_sync_outbox_row ON lfs_sync_outbox(tableName, key);
        CREATE INDEX lfs_sync_outbox_due ON lfs_sync_outbox(sequence)
            WHERE sequence IS NOT NULL AND appliedAt IS NULL;
        CREATE INDEX lfs_sync_outbox_new ON lfs_sync_outbox(tableName, operation = 'delete', id)
            WHERE sequence IS NULL;

        -- Changes that the server has refused, each with the server's reason.
        CREATE TABLE lfs_sync_rejection (
            id INTEGER PRIMARY KEY,
            tableName TEXT NOT NULL,
            key TEXT NOT NULL,
            mutation TEXT NOT NULL,
            code TEXT NOT NULL,
            message TEXT NOT NULL
        );
        CREATE INDEX lfs_sync_rejection_row ON lfs_sync_rejection(tableName, key);

        -- Incoming rows that cannot be applied yet.
        CREATE TABLE lfs_sync_parked (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            row TEXT NOT NULL CHECK (typeof(row) = 'text'),
            -- The position of the row among the changes of its scope.
            position TEXT NOT NULL CHECK (typeof(position) = 'text'),
            reason TEXT NOT NULL CHECK (typeof(reason) = 'text'),
            PRIMARY KEY (tableName, scope, key)
        );

        -- Rows from scopes other than the account's own. A row is deleted with the last scope that contains it.
        CREATE TABLE lfs_sync_member (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            PRIMARY KEY (tableName, key, scope)
        ) WITHOUT ROWID;
        CREATE INDEX lfs_sync_member_scope ON lfs_sync_member(scope, tableName, key);

        -- Full resyncs of types, each from the first row of a scope on. At the end, rows that the server has not sent
        -- again are deleted.
        CREATE TABLE lfs_sync_pass (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            -- 1 once the last row has arrived.
            isDone INTEGER NOT NULL DEFAULT 0 CHECK (isDone = 0 OR isDone = 1),
            PRIMARY KEY (type, scope)
        );

        -- The rows that such a full resync has received.
        CREATE TABLE lfs_sync_mark (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            PRIMARY KEY (tableName, scope, key)
        ) WITHOUT ROWID;
        """
}
