import GRDB
import LFSDatabase
import LFSWire

/// The triggers that note local changes of a synced table in the outbox, whatever makes them. While received rows are
/// applied they note nothing, but for changes that are lost with their row.
struct CaptureTriggers {
    private let table: SyncedTable

    init(_ table: SyncedTable) { self.table = table }

    var names: [String] {
        ["insert", "update", "delete", "rekey", "replace", "lose"].map { "lfs_sync_\(table.name)_\($0)" }
    }

    /// What creates them.
    var all: [String] { [insert, update, delete, rekey, replace, lose].compactMap(\.self) }

    /// Queues the rows that are there already.
    var backfill: String {
        """
        INSERT INTO lfs_sync_outbox (tableName, key, operation)
        SELECT \(literal), id, 'put' FROM \(table.name.quotedDatabaseIdentifier) ORDER BY rowid
        """
    }

    private var literal: String { "'\(table.name)'" }

    private static let isLocal = "NOT \(StateTable.isApplying())"

    private func open(_ row: String) -> String {
        "tableName = \(literal) AND key = \(row).id AND sequence IS NULL"
    }

    /// What this device has of a row, as `base` and `after`. While an earlier change of it waits, columns that come
    /// stay hidden behind it, so that no more was seen than before. What is parked was not seen.
    private func seen(_ row: String) -> String { seen(ofKey: "\(row).id") }

    /// - Parameter key: the row's id, in SQL.
    func seen(ofKey key: String) -> String {
        let scope = MemberTable.scope(table.name, key)
        let come = SyncCheckpoints.token(
            of: table.type, in: scope, where: "NOT \(ParkedTable.contains(table.name, "c.scope", key))")
        let waiting = "FROM lfs_sync_outbox WHERE tableName = \(literal) AND key = \(key)"
        return """
            CASE WHEN EXISTS (SELECT 1 \(waiting)) THEN (SELECT base \(waiting) ORDER BY id DESC LIMIT 1)
                ELSE (\(come)) END, (SELECT max(sequence) \(waiting))
            """
    }

    private var insert: String {
        """
        CREATE TRIGGER \(names[0].quotedDatabaseIdentifier) AFTER INSERT ON \(table.name.quotedDatabaseIdentifier)
        WHEN \(Self.isLocal)
        BEGIN
            \(noteNew)
        END
        """
    }

    /// Notes that a row is there as it is.
    private var noteNew: String {
        """
        UPDATE lfs_sync_outbox SET operation = 'put', columns = '{}' WHERE \(open("NEW"));
        INSERT INTO lfs_sync_outbox (tableName, key, operation, base, after)
        SELECT \(literal), NEW.id, 'put', \(seen("NEW"))
        WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("NEW")));
        """
    }

    /// What another row takes the place of goes without a trigger, and the server may know it: a deletion has to be
    /// sent later on. Until the row is there, it is a change of nothing.
    private var replace: String {
        """
        CREATE TRIGGER \(names[4].quotedDatabaseIdentifier) BEFORE INSERT ON \(table.name.quotedDatabaseIdentifier)
        WHEN \(Self.isLocal) AND EXISTS (SELECT 1 FROM \(table.name.quotedDatabaseIdentifier) WHERE id = NEW.id)
        BEGIN
            INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown, base, after)
            SELECT \(literal), NEW.id, 'patch', 1, \(seen("NEW"))
            WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("NEW")));
        END
        """
    }

    /// A row with another key is another row.
    private var rekey: String {
        """
        CREATE TRIGGER \(names[3].quotedDatabaseIdentifier) AFTER UPDATE OF id
        ON \(table.name.quotedDatabaseIdentifier)
        WHEN \(Self.isLocal) AND OLD.id IS NOT NEW.id
        BEGIN
            \(noteGone)
            \(noteNew)
        END
        """
    }

    /// nil where there is no column that could change.
    private var update: String? {
        guard !table.columns.isEmpty else { return nil }
        let changes = table.columns.map { column in
            let quoted = column.quotedDatabaseIdentifier
            return "CASE WHEN OLD.\(quoted) IS NOT NEW.\(quoted) THEN ',\"\(column)\":1' ELSE '' END"
        }
        let differs = table.columns.map {
            "OLD.\($0.quotedDatabaseIdentifier) IS NOT NEW.\($0.quotedDatabaseIdentifier)"
        }
        let names = table.columns.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        let changed = "json('{' || substr(\(changes.joined(separator: " || ")), 2) || '}')"
        return """
            CREATE TRIGGER \(self.names[1].quotedDatabaseIdentifier) AFTER UPDATE OF \(names)
            ON \(table.name.quotedDatabaseIdentifier)
            WHEN \(Self.isLocal) AND (\(differs.joined(separator: " OR ")))
            BEGIN
                INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown, base, after)
                SELECT \(literal), NEW.id, 'patch', 1, \(seen("NEW"))
                WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("NEW")));
                UPDATE lfs_sync_outbox SET columns = json_patch(columns, \(changed))
                WHERE \(open("NEW")) AND operation = 'patch';
            END
            """
    }

    private var delete: String {
        """
        CREATE TRIGGER \(names[2].quotedDatabaseIdentifier) AFTER DELETE ON \(table.name.quotedDatabaseIdentifier)
        WHEN \(Self.isLocal)
        BEGIN
            \(noteGone)
        END
        """
    }

    /// A row goes as another device wants it, itself or with what it belongs to, and nobody has heard yet what was
    /// changed here. That is kept as a change that was refused.
    private var lose: String {
        func quoted(_ value: String) -> String {
            "json_quote(CASE typeof(\(value)) WHEN 'blob' THEN hex(\(value)) ELSE \(value) END)"
        }
        // As a mutation has it, so that it can be made again.
        func written(_ value: String) -> String {
            "CASE typeof(\(value)) WHEN 'blob' THEN '{\"hex\":\"' || lower(hex(\(value))) || '\"}' "
                + "ELSE json_quote(\(value)) END"
        }
        let values = table.columns.map { column in
            "'\"\(column)\":' || \(written("OLD.\(column.quotedDatabaseIdentifier)"))"
        }
        let data = values.isEmpty ? "''" : values.joined(separator: " || ',' || ")
        return """
            CREATE TRIGGER \(names[5].quotedDatabaseIdentifier) AFTER DELETE ON \(table.name.quotedDatabaseIdentifier)
            WHEN \(StateTable.isApplying()) AND EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("OLD")))
            BEGIN
                INSERT INTO lfs_sync_rejection (tableName, key, mutation, code, message)
                SELECT tableName, key,
                    '{"type":"\(table.type)","op":"' || operation || '","key":' || \(quoted("OLD.id"))
                        || ',"data":{' || \(data) || '}}',
                    'missing',
                    'Another device has deleted the row, or what it belongs to, before this change was sent.'
                FROM lfs_sync_outbox WHERE \(open("OLD")) AND (operation = 'put' OR columns <> '{}');
                DELETE FROM lfs_sync_outbox WHERE \(open("OLD"));
            END
            """
    }

    private var noteGone: String {
        """
        INSERT INTO lfs_sync_outbox (tableName, key, operation, isKnown, base, after)
        SELECT \(literal), OLD.id, 'delete', 1, \(seen("OLD"))
        WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("OLD")));
        -- The server has never heard of it.
        DELETE FROM lfs_sync_outbox WHERE \(open("OLD")) AND operation = 'put' AND isKnown = 0;
        UPDATE lfs_sync_outbox SET operation = 'delete', columns = '{}', isKnown = 1 WHERE \(open("OLD"));
        """
    }
}
