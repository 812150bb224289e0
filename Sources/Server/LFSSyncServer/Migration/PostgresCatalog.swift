/// The catalog of the objects in the schema of a PostgreSQL connection: their kind, name and definition.
///
/// PostgreSQL does not keep the statements that were written. A definition therefore describes the current state:
/// columns with their types, collations and defaults, whether a trigger is enabled, and the code of a function. Columns
/// are sorted by name, because later ones are added at the end. The name of the schema is omitted.
enum PostgresCatalog {
    static let objects = [tables, indexes, triggers, functions, sequences].joined(separator: "\nUNION ALL\n")

    /// Returns true for the definition of an index whose concurrent build has not ended, or has failed.
    static func isIncomplete(_ definition: String) -> Bool { definition.hasPrefix("INVALID ") }

    private static let isHere = "relnamespace = current_schema()::regnamespace"

    private static let tables = """
        SELECT 'table', c.relname::text, (
            SELECT string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod),
                'COLLATE ' || o.collname, CASE WHEN a.attnotnull THEN 'NOT NULL' END,
                'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)), ', ' ORDER BY a.attname)
            FROM pg_attribute a
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            LEFT JOIN pg_collation o ON o.oid = a.attcollation
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        ) || coalesce((
            SELECT '; ' || string_agg(k.text, ', ' ORDER BY k.text)
            FROM (SELECT k.*, pg_get_constraintdef(k.oid, true) AS text FROM pg_constraint k) k
            WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u', 'f', 'c', 'x')), '')
        FROM pg_class c WHERE c.\(isHere) AND c.relkind IN ('r', 'p')
        """

    private static let indexes = """
        SELECT 'index', c.relname::text, CASE WHEN i.indisvalid THEN '' ELSE 'INVALID ' END
            || replace(pg_get_indexdef(c.oid), ' ON ' || quote_ident(current_schema()) || '.', ' ON ')
        FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
        WHERE c.\(isHere) AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = c.oid)
        """

    private static let triggers = """
        SELECT 'trigger', c.relname || '.' || t.tgname, t.tgenabled::text || ' ' || pg_get_triggerdef(t.oid, true)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.\(isHere) AND NOT t.tgisinternal
        """

    private static let functions = """
        SELECT 'function', p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')',
            concat_ws(' ', pg_get_function_result(p.oid), l.lanname, p.provolatile, p.prosecdef, p.proisstrict,
                p.proconfig IS NULL, p.prosrc)
        FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
        WHERE p.pronamespace = current_schema()::regnamespace AND p.prokind = 'f'
        """

    private static let sequences = """
        SELECT 'sequence', c.relname::text, concat_ws(' ', s.seqtypid::regtype, s.seqmin, s.seqmax, s.seqincrement,
            s.seqcache, s.seqcycle)
        FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid WHERE c.\(isHere)
        """
}
