import GRDB
import LFSFiles

/// Refuses a row of this database whose bytes are nowhere, at the moment it is inserted and whatever inserts it.
///
/// It is a temporary trigger with an SQL function, so it lives on the host's writer as long as the manager does and
/// leaves no trace in the file: other programs can still write the database. A row that carries another database's key
/// came from another device and passes.
enum InsertGuard {
    private static let trigger = "lfs_insert_guard"

    /// - Throws: ``LFSError/Code/alreadyOpen`` when the connection has a guard.
    static func install(_ db: Database, bytesExist: @escaping @Sendable (FileID) -> Bool) throws {
        let isThere = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE name = ?)", arguments: [trigger])
        guard isThere == false else {
            throw LFSError(
                .alreadyOpen, "This database connection has an LFSManager already. Use that one, or stop it first.")
        }
        db.add(function: function(bytesExist))
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER \(trigger) BEFORE INSERT ON main.lfs_file
                WHEN NEW.status = 'local'
                    AND substr(NEW.key, 1, 33) = (SELECT namespace || '/' FROM main.lfs_state)
                    AND NOT EXISTS (SELECT 1 FROM main.lfs_file WHERE id = NEW.id AND status = 'remote')
                    AND NOT lfs_bytes_exist(NEW.id)
                BEGIN SELECT RAISE(ABORT, '\(InsertError.noBytes.message)'); END
                """)
    }

    static func remove(_ db: Database) throws {
        try db.execute(sql: "DROP TRIGGER IF EXISTS temp.\(trigger)")
        db.remove(function: function { _ in true })
    }

    private static func function(_ bytesExist: @escaping @Sendable (FileID) -> Bool) -> DatabaseFunction {
        DatabaseFunction("lfs_bytes_exist", argumentCount: 1) { values in
            guard let text = String.fromDatabaseValue(values[0]), let id = FileID(text) else { return false }
            return bytesExist(id)
        }
    }
}
