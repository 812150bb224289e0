public import GRDB

/// Methods that write and fetch in one call, like GRDB's own, with the values that are in the database afterwards.
///
/// GRDB's own methods read the row by `RETURNING`. SQLite computes that before the triggers of the statement run
/// (https://sqlite.org/lang_returning.html, section 3), so ``updateID`` would be the previous one. GRDB's methods that
/// fetch another type (`as:`) or a selection still have this problem. Fetch after the write instead of using them.
extension FileData {
    /// Inserts the row and returns it as it is in the database afterwards.
    ///
    /// - Throws: ``LFSError/Code/bytesMissing`` when the bytes are not on this device, ``LFSError/Code/deleted``
    ///   while the bytes of a deleted file with the id are being removed, and the errors of GRDB.
    public func insertAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try insert(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Updates all columns of the row and returns it as it is in the database afterwards.
    ///
    /// - Throws: the errors of GRDB, such as `RecordError.recordNotFound` when the row does not exist.
    public func updateAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try update(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Changes the record, updates the changed columns, and returns the row as it is in the database afterwards. Nil
    /// when no column has changed.
    ///
    /// - Throws: the errors of the closure and of GRDB, such as `RecordError.recordNotFound`.
    public mutating func updateChangesAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil,
        modify: (inout FileData) throws -> Void
    ) throws -> FileData? {
        try updateChanges(db, onConflict: conflictResolution, modify: modify) ? written(db) : nil
    }

    /// Updates the row, or inserts it if it does not exist, and returns it as it is in the database afterwards.
    ///
    /// - Throws: the errors of ``insertAndFetch(_:onConflict:)``.
    public func saveAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try save(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Inserts the row, or updates the existing one, and returns it as it is in the database afterwards.
    ///
    /// - Throws: the errors of ``insertAndFetch(_:onConflict:)``.
    public func upsertAndFetch(
        _ db: Database, onConflict conflictTarget: [String] = [],
        updating strategy: UpsertUpdateStrategy = .allColumns,
        doUpdate assignments: ((_ excluded: TableAlias<FileData>) -> [ColumnAssignment])? = nil
    ) throws -> FileData {
        // The result of `RETURNING` identifies the row, because the conflict target may be another column than the id.
        let returned = try upsertAndFetch(
            db, as: FileData.self, onConflict: conflictTarget, updating: strategy, doUpdate: assignments)
        return try returned.written(db)
    }

    /// Returns the row that was just written.
    ///
    /// - Throws: `RecordError.recordNotFound` when the write was ignored.
    private func written(_ db: Database) throws -> FileData {
        guard db.changesCount > 0, let file = try FileData.fetchOne(db, key: id) else {
            throw RecordError.recordNotFound(
                databaseTableName: FileData.databaseTableName, key: ["id": id.databaseValue])
        }
        return file
    }
}
