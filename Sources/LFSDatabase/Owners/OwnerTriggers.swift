import GRDB

/// The triggers on an owner's table. They note files and do nothing else.
///
/// The rows that a statement replaces are noted before they go, since no delete trigger fires for them. Whether the
/// statement goes on to replace them is not known then (`OR IGNORE`, `ON CONFLICT DO UPDATE`): a note is only a
/// question.
struct OwnerTriggers {
    let all: [String]

    static func names(_ prefix: String) -> [String] {
        ["deleted", "changed", "replacing", "replacing_by_update"].map { "\(prefix)_\($0)" }
    }

    init(_ owner: FileOwner, _ keys: UniqueKeys) {
        let names = Self.names(owner.prefix)
        let (table, column) = (owner.quotedTable, owner.quotedColumn)
        // Ids are text; a blob or a number there is no file's.
        func note(_ files: String) -> String {
            """
            INSERT INTO lfs_disowned (fileID) SELECT file FROM (\(files))
            WHERE typeof(file) = 'text' AND NOT EXISTS (SELECT 1 FROM lfs_disowned WHERE fileID = file);
            """
        }
        let old = note("SELECT OLD.\(column) AS file")
        func replaced(_ more: String = "") -> String {
            note("SELECT DISTINCT \(column) AS file FROM \(table) WHERE (\(keys.condition))\(more)")
        }
        let notItself = keys.rowID.map { " AND \($0) IS NOT OLD.\($0)" } ?? ""
        all = [
            "CREATE TRIGGER main.\(names[0]) AFTER DELETE ON \(table) BEGIN \(old) END",
            """
            CREATE TRIGGER main.\(names[1]) AFTER UPDATE ON \(table)
            WHEN OLD.\(column) IS NOT NEW.\(column) BEGIN \(old) END
            """,
            "CREATE TRIGGER main.\(names[2]) BEFORE INSERT ON \(table) BEGIN \(replaced()) END",
            """
            CREATE TRIGGER main.\(names[3]) BEFORE UPDATE ON \(table)
            WHEN \(keys.mayMove) BEGIN \(replaced(notItself)) END
            """,
        ]
    }
}
