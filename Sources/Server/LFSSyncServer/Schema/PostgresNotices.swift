/// The SQL that notes on PostgreSQL what a transaction changes for open streams.
///
/// A transaction with NOTIFY takes a lock of the whole database until the end of its commit, so such commits run one
/// after the other. A server therefore sets `lfs.collects`. The triggers then collect the notices of the transaction in
/// `lfs.notices`, which the server reads with the commit and sends together with those of other transactions. All other
/// programs notify in their own transaction.
enum PostgresNotices {
    /// The function of the triggers. A store without it lacks all of the objects.
    static let function = "sync_notice()"
    /// The functions that the statements create.
    static let functions = [function, "sync_listen()", "sync_notify(message text)"]
    /// The triggers that the statements create, with their tables.
    static let triggers = [
        "sync_scope.sync_scope_notice", "sync_grant.sync_grant_notice", "sync_session.sync_session_notice",
        "sync_session.sync_session_end_notice",
    ]

    /// The number of characters after which a transaction no longer names its changes. A message has at most 8,000
    /// bytes.
    private static let limit = 7_000

    /// The statements that create the functions and triggers. The channel depends on the schema of the tables.
    static let statements =
        [
            """
            CREATE FUNCTION sync_listen() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                EXECUTE format('LISTEN %I', 'lfs_' || md5(current_schema()));
            END $$
            """,
            """
            CREATE FUNCTION sync_notify(message text) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
            BEGIN
                PERFORM pg_notify('lfs_' || md5(current_schema()), message);
            END $$
            """,
            """
            CREATE FUNCTION sync_notice() RETURNS trigger LANGUAGE plpgsql AS $$
            DECLARE
                noted text := coalesce(current_setting('lfs.notices', true), '');
                line text;
            BEGIN
                IF TG_TABLE_NAME = 'sync_scope' THEN
                    line := 's ' || NEW.id;
                ELSIF TG_OP = 'DELETE' THEN
                    line := 'a ' || OLD.accountID;
                ELSE
                    line := 'a ' || NEW.accountID;
                END IF;
                IF coalesce(current_setting('lfs.collects', true), '') <> 'on' THEN
                    PERFORM pg_notify('lfs_' || md5(TG_TABLE_SCHEMA), line);
                ELSIF noted = '' THEN
                    PERFORM set_config('lfs.notices', chr(10) || line || chr(10), true);
                ELSIF noted = '*' OR strpos(noted, chr(10) || line || chr(10)) > 0 THEN
                    NULL;
                ELSIF length(noted) > \(limit) THEN
                    PERFORM set_config('lfs.notices', '*', true);
                ELSE
                    PERFORM set_config('lfs.notices', noted || line || chr(10), true);
                END IF;
                RETURN NULL;
            END $$
            """,
            trigger("sync_scope_notice", on: "sync_scope", event: "UPDATE OF head", when: "OLD.head <> NEW.head"),
            trigger("sync_grant_notice", on: "sync_grant", event: "INSERT OR DELETE"),
            trigger(
                "sync_session_notice", on: "sync_session", event: "UPDATE OF epoch, resetReason",
                when: "OLD.epoch <> NEW.epoch OR OLD.resetReason IS DISTINCT FROM NEW.resetReason"),
            trigger("sync_session_end_notice", on: "sync_session", event: "DELETE"),
        ]

    private static func trigger(
        _ name: String, on table: String, event: String, when condition: String? = nil
    ) -> String {
        PostgresTrigger.make(
            name, on: table, event: "AFTER \(event)",
            rows: "FOR EACH ROW" + (condition.map { " WHEN (\($0))" } ?? ""), function: "sync_notice")
    }
}
