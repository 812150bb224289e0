package import GRDB
package import LFSSystem

/// Refuses a row of this database whose bytes are nowhere, at the moment it is inserted and whatever inserts it.
///
/// It is a temporary trigger with an SQL function, so it lives on the host's writer as long as the manager does and
/// leaves no trace in the file: other programs can still write the database. A row that carries another database's key
/// came from another device and passes, and so does one that a server gives back.
package enum InsertGuard {
    private static let trigger = "lfs_insert_guard"

    /// Who knows where the bytes of files are.
    package protocol Holder: AnyObject, Sendable {
        /// Whether the bytes of a file are on this device.
        func contains(_ id: FileID) throws(SystemError) -> Bool
    }

    /// Installs the guard of a manager. A manager that is gone without having been stopped leaves its guard on the
    /// connection; that guard lets every row pass, and is replaced here.
    ///
    /// - Parameters:
    ///   - db: the host's writer.
    ///   - holder: tells whether bytes are here. Only the manager keeps it, so it is gone when the manager is.
    /// - Throws: ``TableError/Code/alreadyOpen`` when the connection has the guard of another manager.
    package static func install(_ db: Database, for holder: some Holder) throws {
        let isThere = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE name = ?)", arguments: [trigger])
        if isThere == true {
            guard try Bool.fetchOne(db, sql: "SELECT lfs_guard_is_held()") == false else {
                throw TableError(
                    .alreadyOpen,
                    """
                    This database connection has an LFSManager already. Use that one, or stop it first. One that was \
                    started runs until its stop(), also when nobody refers to it any more.
                    """
                )
            }
            try remove(db)
        }
        let hasBytes = function { [weak holder] id in
            // A folder that cannot be read now does not prove that the bytes are gone. The row passes, and the upload
            // finds out.
            guard let holder else { return true }
            return (try? holder.contains(id)) ?? true
        }
        db.add(function: hasBytes)
        db.add(function: isHeld { [weak holder] in holder != nil })
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER \(trigger) BEFORE INSERT ON main.lfs_file
                WHEN NEW.status = 'local'
                    AND \(StateTable.isOurs("NEW.key", in: "main."))
                    AND NOT \(StateTable.isApplying(in: "main."))
                    AND NOT EXISTS (SELECT 1 FROM main.lfs_file WHERE id = NEW.id AND status = 'remote')
                    AND NOT lfs_bytes_exist(NEW.id)
                BEGIN SELECT RAISE(ABORT, '\(InsertRefusal.noBytes.message)'); END
                """)
    }

    package static func remove(_ db: Database) throws {
        try db.execute(sql: "DROP TRIGGER IF EXISTS temp.\(trigger)")
        db.remove(function: function { _ in true })
        db.remove(function: isHeld { false })
    }

    private static func isHeld(_ answer: @escaping @Sendable () -> Bool) -> DatabaseFunction {
        DatabaseFunction("lfs_guard_is_held", argumentCount: 0) { _ in answer() }
    }

    private static func function(_ bytesExist: @escaping @Sendable (FileID) -> Bool) -> DatabaseFunction {
        DatabaseFunction("lfs_bytes_exist", argumentCount: 1) { values in
            FileID.fromDatabaseValue(values[0]).map(bytesExist) ?? false
        }
    }
}
