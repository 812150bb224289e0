/// How positions come about on PostgreSQL, where transactions of one scope may run beside each other.
///
/// A row's trigger locks the row of its scope until the commit, and takes a UUID version 7 from the scope's clock and a
/// sequence. A commit is seen before its locks are free: whoever sees a position sees all that are lower, also when the
/// system's clock goes back. Writers of one scope take turns; acks do not wait, for their foreign keys ask for less.
enum PostgresOrder {
    /// Statements that make the functions and the triggers of the server's own tables, once.
    static var script: String {
        let triggers =
            triggers(ofServer: "sync_tombstone", stamping: "INSERT")
            + triggers(ofServer: "sync_member", stamping: "INSERT OR UPDATE")
        return [functions, PostgresReal.function, triggerFunctions].joined(separator: "\n")
            + triggers.joined(separator: ";\n")
    }

    /// Makes two servers that start at once do so one after the other, until the end of the transaction.
    static func takeTurn(_ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.query("SELECT pg_advisory_xact_lock(hashtext('lfs sync ' || current_schema()))", []) { _ in true }
    }

    /// Locks a scope, so that what is found out about its rows stays true until the end of the transaction.
    static func hold(_ scope: String, _ db: any SQLConnection) throws {
        guard db.dialect == .postgres else { return }
        try db.query("SELECT 1 FROM sync_scope WHERE id = ?1 FOR NO KEY UPDATE", [.text(scope)]) { _ in true }
    }

    /// Gives scopes that were just made their first position, in a trigger.
    static func begin(_ scopes: String) -> String {
        """
        UPDATE sync_scope SET clock = greatest(clock, sync_now()) WHERE \(scopes);
            UPDATE sync_scope SET head = sync_id(clock, nextval('sync_counter')) WHERE \(scopes);
        """
    }

    /// Statements that make the triggers of a synced table. Those before the row come last by their name: what the
    /// host's own have changed is seen.
    static func triggers(ofTable table: String) -> [String] {
        let (row, statement) = ("FOR EACH ROW", "FOR EACH STATEMENT")
        return [
            PostgresTrigger.make("zz_sync_stamp", on: table, "BEFORE INSERT", row, "sync_stamp"),
            PostgresTrigger.make("zz_sync_restamp", on: table, "BEFORE UPDATE", row, "sync_restamp"),
            PostgresTrigger.make(
                "sync_insert", on: table, "AFTER INSERT", "REFERENCING NEW TABLE AS new_rows \(statement)",
                "sync_inserted"),
            PostgresTrigger.make(
                "sync_update", on: table, "AFTER UPDATE",
                "REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows \(statement)", "sync_updated"),
            PostgresTrigger.make(
                "sync_delete", on: table, "AFTER DELETE", "REFERENCING OLD TABLE AS old_rows \(statement)",
                "sync_deleted"),
            PostgresTrigger.make("sync_truncate", on: table, "BEFORE TRUNCATE", statement, "sync_truncated"),
        ]
    }

    /// Those of a table that has rows of several scopes besides.
    private static func triggers(ofServer table: String, stamping event: String) -> [String] {
        [PostgresTrigger.make("zz_sync_stamp", on: table, "BEFORE \(event)", "FOR EACH ROW", "sync_stamp")]
            + ["INSERT", "UPDATE"].map { event in
                PostgresTrigger.make(
                    "sync_\(event.lowercased())", on: table, "AFTER \(event)",
                    "REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT", "sync_advanced")
            }
    }

    /// The counter has 42 bits below the millisecond (RFC 9562, section 6.2, method 1). It never begins anew.
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

        -- The lock comes before all else: whoever waited for it sees what the other has left.
        CREATE FUNCTION sync_next(scope text) RETURNS text LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        DECLARE
            place record;
            millis bigint;
            number bigint;
            made text;
        BEGIN
            SELECT s.clock, s.head INTO place FROM sync_scope s WHERE s.id = scope FOR NO KEY UPDATE;
            IF NOT FOUND THEN
                RAISE foreign_key_violation USING MESSAGE = 'The scope of the row is not there.';
            END IF;
            millis := greatest(place.clock, sync_now());
            number := nextval('sync_counter');
            made := sync_id(millis, number);
            -- Tables were put back without the sequence.
            IF made COLLATE "C" <= place.head THEN
                made := sync_id(millis + 1, number);
            END IF;
            RETURN made;
        END $$;
        """#

    private static let triggerFunctions = """
        CREATE FUNCTION sync_stamp() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            NEW.updateID := sync_next(NEW.scopeID);
            RETURN NEW;
        END $$;

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

        -- A scope that is deleted as a whole has no position any more.
        CREATE FUNCTION sync_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            \(bury("old_rows"))
            \(members("isDeleted = 1", of: "SELECT id FROM old_rows"))
            RETURN NULL;
        END $$;

        CREATE FUNCTION sync_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'A synced table is not truncated, for no device would hear of it: use DELETE.';
        END $$;
        """

    private static let changed =
        "SELECT id FROM (SELECT id, updateID FROM new_rows EXCEPT SELECT id, updateID FROM old_rows) changed"

    private static let advance = """
        UPDATE sync_scope s SET head = n.last, clock = greatest(s.clock, sync_millis(n.last))
            FROM (SELECT scopeID, max(updateID) AS last FROM new_rows GROUP BY scopeID) n
            WHERE s.id = n.scopeID AND s.head < n.last;
        """

    private static func raise(_ rows: String) -> String {
        """
        DELETE FROM sync_tombstone d USING \(rows) n
            WHERE d.scopeID = n.scopeID AND d.tableName = TG_TABLE_NAME AND d.key = n.id;
        """
    }

    /// Notes that rows are gone from their scopes.
    private static func bury(_ rows: String) -> String {
        """
        INSERT INTO sync_tombstone (scopeID, tableName, key, updateID)
            SELECT o.scopeID, TG_TABLE_NAME, o.id, '' FROM \(rows) o
            WHERE EXISTS (SELECT 1 FROM sync_scope s WHERE s.id = o.scopeID)
            ORDER BY o.scopeID, o.id
            ON CONFLICT (scopeID, tableName, key) DO UPDATE SET updateID = excluded.updateID;
        """
    }

    /// Gives rows new positions in the shared scopes that contain them. All of these are locked in one order first,
    /// since two transactions may touch several.
    private static func members(_ change: String, of keys: String) -> String {
        let condition = "m.tableName = TG_TABLE_NAME AND m.isDeleted = 0 AND m.key IN (\(keys))"
        return """
            PERFORM 1 FROM sync_scope s WHERE s.id IN (SELECT m.scopeID FROM sync_member m WHERE \(condition))
                ORDER BY s.id FOR NO KEY UPDATE;
                UPDATE sync_member m SET \(change) WHERE \(condition);
            """
    }
}
