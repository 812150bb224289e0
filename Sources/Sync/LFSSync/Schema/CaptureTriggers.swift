import GRDB
import LFSDatabase
import LFSWire

/// The triggers that record local changes of a synced table in the outbox, whichever statement makes them. While
/// received rows are applied, they record only the local changes that are lost with their row.
struct CaptureTriggers {
    private let table: SyncedTable

    init(_ table: SyncedTable) { self.table = table }

    var names: [String] {
        ["insert", "update", "delete", "rekey", "replace", "lose"].map { "lfs_sync_\(table.name)_\($0)" }
    }

    /// The statements that create the triggers.
    var all: [String] { [insert, update, delete, rekey, replace, lose].compactMap(\.self) }

    /// The statement that queues the existing rows.
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

    /// Returns SQL for the base version of a row, as `base` and `after`. A pending earlier change hides incoming
    /// columns, so the base version stays the same. A parked row is not part of the base version.
    private func seen(_ row: String) -> String { seen(ofKey: "\(row).id") }

    /// Returns SQL for the base version of a row.
    ///
    /// - Parameter key: an SQL expression for the row's id.
    func seen(ofKey key: String) -> String {
        let scope = MemberTable.scope(table.name, key: key)
        let come = SyncCheckpoints.token(
            of: table.types, in: scope, where: "NOT \(ParkedTable.contains(table.name, scope: "c.scope", key: key))")
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

    /// The statements that record a row with its current values.
    private var noteNew: String {
        """
        UPDATE lfs_sync_outbox SET operation = 'put', columns = '{}' WHERE \(open("NEW"));
        INSERT INTO lfs_sync_outbox (tableName, key, operation, base, after)
        SELECT \(literal), NEW.id, 'put', \(seen("NEW"))
        WHERE NOT EXISTS (SELECT 1 FROM lfs_sync_outbox WHERE \(open("NEW")));
        """
    }

    /// The trigger for a row that another row replaces. SQLite fires no delete trigger then, but the server may know
    /// the old row. A later deletion must therefore be sent. Until the new row exists, the entry is a patch of no
    /// columns.
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

    /// The trigger for a changed id. A row with another id is a different row.
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

    /// The trigger for changed columns, or nil if no column can change.
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

    /// The trigger for a row that is deleted on behalf of another device, directly or with its parent. A local change
    /// that was not sent yet is stored as a refused change.
    private var lose: String {
        func quoted(_ value: String) -> String {
            "json_quote(CASE typeof(\(value)) WHEN 'blob' THEN hex(\(value)) ELSE \(value) END)"
        }
        // Encodes a value as a mutation does, so that the change can be made again.
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
        -- The server has never received the row.
        DELETE FROM lfs_sync_outbox WHERE \(open("OLD")) AND operation = 'put' AND isKnown = 0;
        UPDATE lfs_sync_outbox SET operation = 'delete', columns = '{}', isKnown = 1 WHERE \(open("OLD"));
        """
    }
}
