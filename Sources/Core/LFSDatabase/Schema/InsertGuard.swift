package import GRDB
package import LFSSystem

/// A guard that rejects the insertion of a row of this database whose bytes do not exist on the device, whichever code
/// inserts it.
///
/// It is a temporary trigger with an SQL function. So it exists on the host's writer as long as the manager does, and
/// leaves no trace in the file. Other programs can still write to the database. A row with another database's key came
/// from another device and is accepted. So is a row that a server sends back.
package enum InsertGuard {
    private static let trigger = "lfs_insert_guard"

    /// An object that knows which files have bytes on this device.
    package protocol Holder: AnyObject, Sendable {
        /// Returns true if the bytes of a file are on this device.
        func contains(_ id: FileID) throws(SystemError) -> Bool
    }

    /// Installs the guard of a manager. A manager that was released without being stopped leaves its guard on the
    /// connection. That guard accepts every row, and this call replaces it.
    ///
    /// - Parameters:
    ///   - db: the host's writer.
    ///   - holder: knows which bytes exist on the device. The guard keeps only a weak reference, so the holder lives as
    ///     long as its manager.
    /// - Throws: ``TableError/Code/alreadyOpen`` if the connection has the guard of another manager.
    package static func install(_ db: Database, for holder: some Holder) throws {
        let isThere = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_temp_master WHERE name = ?)", arguments: [trigger])
        if isThere == true {
            guard try Bool.fetchOne(db, sql: "SELECT lfs_guard_is_held()") == false else {
                throw TableError(
                    .alreadyOpen,
                    message: """
                        This database connection already has an LFSManager. Use that one, or stop it first. A started \
                        manager runs until its stop(), even if nothing refers to it any more.
                        """
                )
            }
            try remove(db)
        }
        let hasBytes = function { [weak holder] id in
            // A folder that cannot be read now does not prove that the bytes are lost. The row is accepted, and the
            // upload detects a real loss.
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
                    AND NOT \(OriginalTable.contains("NEW.id", in: "main."))
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
