public import GRDB
import LFSWire

extension DatabaseMigrator {
    /// Registers the migrations of the tables that sync needs. They come after those of ``registerLFSMigrations()``.
    public mutating func registerLFSSyncMigrations() {
        registerMigration("lfs.sync.v1") { db in
            try db.execute(sql: SyncTables.creation)
            try SyncedTable.install(SyncType.fileTable, in: db)
        }
        registerMigration("lfs.sync.v2") { db in
            try db.execute(sql: SyncTables.waiting)
            // Their triggers are others as well.
            for name in try String.fetchAll(db, sql: "SELECT name FROM lfs_sync_table") {
                do {
                    try SyncedTable.install(name, in: db)
                } catch is SyncError {
                    // The table is gone or cannot be shared any more, which `SyncClient.open` reports.
                }
            }
        }
    }
}

/// What sync keeps in the host's database. None of it travels.
enum SyncTables {
    /// What version 2 has besides.
    static let waiting = """
        -- What the server lacks for this change: `table.column`, or a table. NULL for a change that can be sent.
        ALTER TABLE lfs_sync_outbox ADD COLUMN waits TEXT CHECK (waits IS NULL OR typeof(waits) = 'text');
        CREATE INDEX lfs_sync_outbox_waiting ON lfs_sync_outbox(waits) WHERE waits IS NOT NULL;

        -- The columns at the last install, as a JSON array. The server may have values of those that are new.
        ALTER TABLE lfs_sync_table ADD COLUMN columns TEXT CHECK (columns IS NULL OR typeof(columns) = 'text');

        -- Whether everything has to come once more, since a table has new columns.
        ALTER TABLE lfs_sync_state ADD COLUMN isToReset INTEGER NOT NULL DEFAULT 0
            CHECK (isToReset = 0 OR isToReset = 1);

        -- Whoever removes everything from a device removes what sync keeps of its rows. In one transaction with the
        -- rows, since changes that are lost with them are noted until then.
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
            -- The account whose rows these are; NULL before the first stream.
            account TEXT CHECK (account IS NULL OR typeof(account) = 'text'),
            -- Of the last batch of acks, so that an older copy of this database shows.
            batch INTEGER NOT NULL DEFAULT 0 CHECK (typeof(batch) = 'integer' AND batch >= 0),
            -- That batch, until the server has it: its id and tokens, a line each.
            ackBatch TEXT CHECK (ackBatch IS NULL OR typeof(ackBatch) = 'text'),
            -- The id of the last one that the server has.
            lastAckBatch TEXT CHECK (lastAckBatch IS NULL OR typeof(lastAckBatch) = 'text'),
            -- How many streams have brought something, so that one that another has overtaken ends.
            stream INTEGER NOT NULL DEFAULT 0 CHECK (typeof(stream) = 'integer'),
            -- Of the last mutation that was frozen.
            sequence INTEGER NOT NULL DEFAULT 0 CHECK (typeof(sequence) = 'integer' AND sequence >= 0),
            -- Whether the passes under way remove nothing: the server is older than this device.
            keepsAll INTEGER NOT NULL DEFAULT 0 CHECK (keepsAll = 0 OR keepsAll = 1)
        );
        INSERT INTO lfs_sync_state (id) VALUES (1);

        -- The tables that are synced, by the names that they had when they were installed.
        CREATE TABLE lfs_sync_table (
            name TEXT PRIMARY KEY NOT NULL CHECK (typeof(name) = 'text')
        );

        -- How far this device has come. What is not acknowledged yet is sent again until it is.
        CREATE TABLE lfs_sync_checkpoint (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            token TEXT NOT NULL CHECK (typeof(token) = 'text'),
            isAcknowledged INTEGER NOT NULL DEFAULT 0 CHECK (isAcknowledged = 0 OR isAcknowledged = 1),
            PRIMARY KEY (type, scope)
        );
        CREATE INDEX lfs_sync_checkpoint_open ON lfs_sync_checkpoint(isAcknowledged) WHERE isAcknowledged = 0;

        -- How far this device had come before types began anew: what it has seen of their rows it has still.
        CREATE TABLE lfs_sync_seen (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            token TEXT NOT NULL CHECK (typeof(token) = 'text'),
            PRIMARY KEY (type, scope)
        );

        -- Local changes on their way up: at most one for each row that was not frozen.
        CREATE TABLE lfs_sync_outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            key TEXT NOT NULL,
            operation TEXT NOT NULL CHECK (operation = 'put' OR operation = 'patch' OR operation = 'delete'),
            -- Whether the server may have the row already.
            isKnown INTEGER NOT NULL DEFAULT 0 CHECK (isKnown = 0 OR isKnown = 1),
            -- Of a patch: an object with the names of the changed columns.
            columns TEXT NOT NULL DEFAULT '{}' CHECK (typeof(columns) = 'text'),
            -- What this device had of the row when it was changed first: how far its type had come, as a token, and the
            -- number of the last change of it that had not come back. Both are NULL where there was none.
            base TEXT CHECK (base IS NULL OR typeof(base) = 'text'),
            after INTEGER CHECK (after IS NULL OR typeof(after) = 'integer'),
            -- From here on once it is frozen: what is sent, and sent again, the same each time.
            sequence INTEGER CHECK (sequence IS NULL OR typeof(sequence) = 'integer'),
            mutation TEXT CHECK (mutation IS NULL OR typeof(mutation) = 'text'),
            -- What has come of the row since, as JSON; empty for a deletion, NULL where nothing has.
            came TEXT CHECK (came IS NULL OR typeof(came) = 'text'),
            -- Where the server has put it: it stays until the row has come from there.
            appliedAt TEXT CHECK (appliedAt IS NULL OR typeof(appliedAt) = 'text')
        );
        CREATE INDEX lfs_sync_outbox_row ON lfs_sync_outbox(tableName, key);
        CREATE INDEX lfs_sync_outbox_due ON lfs_sync_outbox(sequence)
            WHERE sequence IS NOT NULL AND appliedAt IS NULL;
        CREATE INDEX lfs_sync_outbox_new ON lfs_sync_outbox(tableName, operation = 'delete', id)
            WHERE sequence IS NULL;

        -- Changes that the server has refused, each with what it said.
        CREATE TABLE lfs_sync_rejection (
            id INTEGER PRIMARY KEY,
            tableName TEXT NOT NULL,
            key TEXT NOT NULL,
            mutation TEXT NOT NULL,
            code TEXT NOT NULL,
            message TEXT NOT NULL
        );
        CREATE INDEX lfs_sync_rejection_row ON lfs_sync_rejection(tableName, key);

        -- Rows that have come and cannot be applied yet.
        CREATE TABLE lfs_sync_parked (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            row TEXT NOT NULL CHECK (typeof(row) = 'text'),
            -- Where it stands among the changes of its scope.
            position TEXT NOT NULL CHECK (typeof(position) = 'text'),
            reason TEXT NOT NULL CHECK (typeof(reason) = 'text'),
            PRIMARY KEY (tableName, scope, key)
        );

        -- What comes from other scopes than the account's own: a row goes with the last that gives it.
        CREATE TABLE lfs_sync_member (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            PRIMARY KEY (tableName, key, scope)
        ) WITHOUT ROWID;
        CREATE INDEX lfs_sync_member_scope ON lfs_sync_member(scope, tableName, key);

        -- Types that come whole, from the first row of a scope on. What was here before and does not come goes at the
        -- end.
        CREATE TABLE lfs_sync_pass (
            type TEXT NOT NULL CHECK (typeof(type) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            -- Whether the last row has come.
            isDone INTEGER NOT NULL DEFAULT 0 CHECK (isDone = 0 OR isDone = 1),
            PRIMARY KEY (type, scope)
        );

        -- What has come in such a pass.
        CREATE TABLE lfs_sync_mark (
            tableName TEXT NOT NULL CHECK (typeof(tableName) = 'text'),
            scope TEXT NOT NULL CHECK (typeof(scope) = 'text'),
            key TEXT NOT NULL CHECK (typeof(key) = 'text'),
            PRIMARY KEY (tableName, scope, key)
        ) WITHOUT ROWID;
        """
}
