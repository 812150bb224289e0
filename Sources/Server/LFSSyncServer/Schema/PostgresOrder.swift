/// The SQL that creates ascending positions on PostgreSQL, where several transactions may write to one scope.
///
/// A position is the `updateID` of a row: a UUID of version 7, made of the scope's clock and a sequence. The trigger of
/// a changed row first locks the row of its scope until the commit, so writers of one scope run one after the other.
/// PostgreSQL makes a commit visible before it releases the locks. A reader that sees a position therefore sees all
/// lower positions of the scope, even if the system's clock was set back.
///
/// Acknowledgements of devices do not wait for these locks, because their foreign keys need only a weaker lock.
enum PostgresOrder {
    /// The statements that create the functions, and the triggers of the server's own tables. They run once for each
    /// store.
    static var script: String {
        let triggers =
            triggers(ofServer: "sync_tombstone", stamping: "INSERT")
            + triggers(ofServer: "sync_member", stamping: "INSERT OR UPDATE")
        return [functions, PostgresReal.function, triggerFunctions].joined(separator: "\n")
            + (triggers + PostgresNotices.statements).joined(separator: ";\n")
    }

    /// Waits for other servers that migrate the store, and keeps later ones waiting until the end of the transaction.
    /// On SQLite, transactions exclude each other anyway.
    static func takeTurn(_ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.query("SELECT pg_advisory_xact_lock(hashtext('lfs sync ' || current_schema()))", arguments: []) { _ in
            true
        }
    }

    /// Begins the changes of a migration.
    ///
    /// Every request that writes locks the row of its session first. With the lock of that table, the migration waits
    /// for the current writers before it has the lock of another table, and later writers wait before they have one.
    /// Otherwise they would end in deadlocks. Streams continue.
    static func beginChange(_ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        // A statement that needs more than the time limit would fail at each start.
        try liftLimit(db)
        try db.run(script: "LOCK TABLE sync_session IN EXCLUSIVE MODE")
    }

    /// Lifts the time limit of the other statements of the transaction, for work of an operator whose size has no
    /// limit. SQLite has no time limit.
    static func liftLimit(_ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.run(script: "SET LOCAL statement_timeout = 0")
    }

    /// Makes the other statements of the transaction read by an index where one exists. The planner estimates a range
    /// of several columns by the first one, and may read the whole table for a few rows.
    static func preferIndexes(_ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.run(script: "SET LOCAL enable_seqscan = off")
    }

    /// Locks a scope until the end of the transaction, so that no other transaction changes its rows in the meantime.
    static func hold(_ scope: String, _ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.query("SELECT 1 FROM sync_scope WHERE id = ?1 FOR NO KEY UPDATE", arguments: [.text(scope)]) { _ in true
        }
    }

    /// Returns statements of a trigger that set the clock and the first position of new scopes.
    ///
    /// - Parameter scopes: a condition for the rows of `sync_scope`.
    static func begin(_ scopes: String) -> String {
        """
        UPDATE sync_scope SET clock = greatest(clock, sync_now()) WHERE \(scopes);
            UPDATE sync_scope SET head = sync_id(clock, nextval('sync_counter')) WHERE \(scopes);
        """
    }

    /// Returns statements that create the triggers of a synced table.
    ///
    /// PostgreSQL runs triggers in the order of their names. The triggers that set positions begin with `zz`, so they
    /// see the changes of the host's own triggers.
    static func triggers(ofTable table: String) -> [String] {
        let (row, statement) = ("FOR EACH ROW", "FOR EACH STATEMENT")
        return [
            PostgresTrigger.make("zz_sync_stamp", on: table, event: "BEFORE INSERT", rows: row, function: "sync_stamp"),
            PostgresTrigger.make(
                "zz_sync_restamp", on: table, event: "BEFORE UPDATE", rows: row, function: "sync_restamp"),
            PostgresTrigger.make(
                "sync_insert", on: table, event: "AFTER INSERT", rows: "REFERENCING NEW TABLE AS new_rows \(statement)",
                function: "sync_inserted"),
            PostgresTrigger.make(
                "sync_update", on: table, event: "AFTER UPDATE",
                rows: "REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows \(statement)", function: "sync_updated"),
            PostgresTrigger.make(
                "sync_delete", on: table, event: "AFTER DELETE", rows: "REFERENCING OLD TABLE AS old_rows \(statement)",
                function: "sync_deleted"),
            PostgresTrigger.make(
                "sync_truncate", on: table, event: "BEFORE TRUNCATE", rows: statement, function: "sync_truncated"),
        ]
    }

    /// Returns statements that create the triggers of one of the server's own tables.
    ///
    /// - Parameter event: the events at which a row gets a new position.
    private static func triggers(ofServer table: String, stamping event: String) -> [String] {
        [
            PostgresTrigger.make(
                "zz_sync_stamp", on: table, event: "BEFORE \(event)", rows: "FOR EACH ROW", function: "sync_stamp")
        ]
            + ["INSERT", "UPDATE"].map { event in
                PostgresTrigger.make(
                    "sync_\(event.lowercased())", on: table, event: "AFTER \(event)",
                    rows: "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT", function: "sync_advanced")
            }
    }

    /// The functions that create positions. The sequence fills the 42 bits after the milliseconds of the UUID
    /// (RFC 9562, section 6.2, method 1), and never restarts.
    private static let functions = #"""
        CREATE SEQUENCE sync_counter MINVALUE 0 MAXVALUE 4398046511103 CACHE 1;

        -- Milliseconds since 1970, the same for a whole transaction.
        CREATE FUNCTION sync_now() RETURNS bigint LANGUAGE sql STABLE AS
        $$ SELECT floor(extract(epoch FROM transaction_timestamp()) * 1000)::bigint $$;

        CREATE FUNCTION sync_id(millis bigint, number bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
            SELECT lpad(to_hex(millis >> 16), 8, '0') || '-' || lpad(to_hex(millis & 65535), 4, '0')
                || '-7' || lpad(to_hex(number >> 30), 3, '0') || '-' || to_hex(32768 | (number >> 16 & 16383))
                || '-' || lpad(to_hex(number & 65535), 4, '0') || right(gen_random_uuid()::text, 8)
        $$;

        CREATE FUNCTION sync_millis(id text) RETURNS bigint LANGUAGE sql IMMUTABLE AS
        $$ SELECT ('x' || translate(left(id, 13), '-', ''))::bit(48)::bigint $$;

        -- The lock comes first. A transaction that waited for it sees what the other one has committed.
        CREATE FUNCTION sync_next(scope text) RETURNS text LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        DECLARE
            place record;
            millis bigint;
            number bigint;
            made text;
        BEGIN
            SELECT s.clock, s.head INTO place FROM sync_scope s WHERE s.id = scope FOR NO KEY UPDATE;
            IF NOT FOUND THEN
                RAISE foreign_key_violation USING MESSAGE = 'The scope of the row does not exist.';
            END IF;
            millis := greatest(place.clock, sync_now());
            number := nextval('sync_counter');
            made := sync_id(millis, number);
            -- The tables were restored without the sequence.
            IF made COLLATE "C" <= place.head THEN
                made := sync_id(millis + 1, number);
            END IF;
            RETURN made;
        END $$;
        """#

    /// The statement that creates the trigger function for the positions of new rows.
    ///
    /// Entries of `sync_member` that are inserted with a position keep it. ``positioned(_:)`` creates the positions of
    /// thousands of entries in one statement, because a query of the scope for each entry took most of the time.
    static let stamp = """
        CREATE OR REPLACE FUNCTION sync_stamp() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            IF TG_OP <> 'INSERT' OR TG_TABLE_NAME <> 'sync_member' OR NEW.updateID = '' THEN
                NEW.updateID := sync_next(NEW.scopeID);
            END IF;
            RETURN NEW;
        END $$
        """

    /// Returns true if a definition is that of ``stamp``. Stores of earlier servers have a different function with the
    /// same name, which a migration replaces.
    static func isStamp(_ definition: String) -> Bool { definition.contains("TG_OP <> 'INSERT'") }

    /// Returns a SELECT of scopes `s`, keys `k` and new positions `p`. The positions are higher than all others of
    /// their scopes. The transaction must have locked the scopes.
    ///
    /// - Parameter keys: a SELECT of scopes `s` and keys `k`.
    static func positioned(_ keys: String) -> String {
        """
        SELECT n.s, n.k, sync_id(n.millis, n.number) AS p FROM (
                    SELECT x.s, x.k, greatest(o.clock + 1, sync_now()) AS millis, nextval('sync_counter') AS number
                    FROM (\(keys)) x JOIN sync_scope o ON o.id = x.s) n
        """
    }

    private static let triggerFunctions = """
        \(stamp);

        CREATE FUNCTION sync_restamp() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            NEW.updateID := OLD.updateID;
            IF NEW *<> OLD THEN
                NEW.updateID := sync_next(NEW.scopeID);
            END IF;
            RETURN NEW;
        END $$;

        CREATE FUNCTION sync_advanced() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            \(advance)
            RETURN NULL;
        END $$;

        CREATE FUNCTION sync_inserted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            \(advance)
            \(raise("new_rows"))
            \(members("isDeleted = 0", of: "SELECT id FROM new_rows"))
            RETURN NULL;
        END $$;

        CREATE FUNCTION sync_updated() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            \(advance)
            IF EXISTS (SELECT scopeID, id FROM old_rows EXCEPT SELECT scopeID, id FROM new_rows) THEN
                \(raise("new_rows"))
                \(bury("(SELECT scopeID, id FROM old_rows EXCEPT SELECT scopeID, id FROM new_rows)"))
            END IF;
            \(members("isDeleted = 1", of: "SELECT id FROM old_rows EXCEPT SELECT id FROM new_rows"))
            \(members("isDeleted = 0", of: changed))
            RETURN NULL;
        END $$;

        -- A scope that is deleted as a whole no longer has a position.
        CREATE FUNCTION sync_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            \(bury("old_rows"))
            \(members("isDeleted = 1", of: "SELECT id FROM old_rows"))
            RETURN NULL;
        END $$;

        CREATE FUNCTION sync_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'A synced table cannot be truncated, because no device would learn of it. Use DELETE.';
        END $$;
        """

    /// A SELECT of the ids of rows that an update has changed, recognized by their new positions.
    private static let changed =
        "SELECT id FROM (SELECT id, updateID FROM new_rows EXCEPT SELECT id, updateID FROM old_rows) changed"

    /// The statement that moves the heads and clocks of scopes to the highest position of their new rows.
    private static let advance = """
        UPDATE sync_scope s SET head = n.last, clock = greatest(s.clock, sync_millis(n.last))
            FROM (SELECT scopeID, max(updateID) AS last FROM new_rows GROUP BY scopeID) n
            WHERE s.id = n.scopeID AND s.head < n.last;
        """

    /// Returns a statement that removes the tombstones of rows that exist again.
    ///
    /// - Parameter rows: the name of the trigger's table with the rows.
    private static func raise(_ rows: String) -> String {
        """
        DELETE FROM sync_tombstone d USING \(rows) n
            WHERE d.scopeID = n.scopeID AND d.tableName = TG_TABLE_NAME AND d.key = n.id;
        """
    }

    /// Returns a statement that creates tombstones for rows that have left their scopes.
    private static func bury(_ rows: String) -> String {
        """
        INSERT INTO sync_tombstone (scopeID, tableName, key, updateID)
            SELECT o.scopeID, TG_TABLE_NAME, o.id, '' FROM \(rows) o
            WHERE EXISTS (SELECT 1 FROM sync_scope s WHERE s.id = o.scopeID)
            ORDER BY o.scopeID, o.id
            ON CONFLICT (scopeID, tableName, key) DO UPDATE SET updateID = excluded.updateID;
        """
    }

    /// Returns statements that give rows new positions in the shared scopes that contain them.
    ///
    /// The scopes are locked first, in the order of their ids. Two transactions that change the same scopes would
    /// otherwise cause a deadlock.
    ///
    /// - Parameters:
    ///   - change: the assignment to the entries.
    ///   - keys: a SELECT of the ids of the rows.
    private static func members(_ change: String, of keys: String) -> String {
        let condition = "m.tableName = TG_TABLE_NAME AND m.isDeleted = 0 AND m.key IN (\(keys))"
        return """
            PERFORM 1 FROM sync_scope s WHERE s.id IN (SELECT m.scopeID FROM sync_member m WHERE \(condition))
                ORDER BY s.id FOR NO KEY UPDATE;
                UPDATE sync_member m SET \(change) WHERE \(condition);
            """
    }
}
