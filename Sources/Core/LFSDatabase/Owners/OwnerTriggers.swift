import GRDB

/// The SQL of the triggers on a host's table whose rows own files.
///
/// They only record files in `lfs_disowned`: files that a row no longer refers to, or may soon no longer refer to.
/// After the commit the deletion worker checks each recorded file, and deletes it if nothing refers to it.
///
/// `INSERT OR REPLACE` and `UPDATE OR REPLACE` remove rows without firing their delete triggers. So two of the triggers
/// run before the statement writes. They record the files of all rows that have a unique key of the new row. Such a row
/// may stay, as with `OR IGNORE` or `ON CONFLICT DO UPDATE`. Then its file is recorded but not deleted.
///
/// For rows from a server they record nothing, because the device that released a file either deletes or keeps it.
struct OwnerTriggers {
    /// The statements that create the triggers.
    let all: [String]

    /// Returns the names of an owner's triggers with this prefix, in the order of ``all``.
    static func names(_ prefix: String) -> [String] {
        ["deleted", "changed", "replacing", "replacing_by_update"].map { "\(prefix)_\($0)" }
    }

    init(_ owner: FileOwner, keys: UniqueKeys) {
        let names = Self.names(owner.prefix)
        let (table, column) = (owner.quotedTable, owner.quotedColumn)
        // File ids are text, so a blob or a number in the column does not refer to a file.
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
        let isOwn = "NOT \(StateTable.isApplying())"
        all = [
            "CREATE TRIGGER main.\(names[0]) AFTER DELETE ON \(table) WHEN \(isOwn) BEGIN \(old) END",
            """
            CREATE TRIGGER main.\(names[1]) AFTER UPDATE ON \(table)
            WHEN OLD.\(column) IS NOT NEW.\(column) AND \(isOwn) BEGIN \(old) END
            """,
            "CREATE TRIGGER main.\(names[2]) BEFORE INSERT ON \(table) WHEN \(isOwn) BEGIN \(replaced()) END",
            """
            CREATE TRIGGER main.\(names[3]) BEFORE UPDATE ON \(table)
            WHEN (\(keys.mayMove)) AND \(isOwn) BEGIN \(replaced(notItself)) END
            """,
        ]
    }
}
