public import GRDB

/// The forms that write and fetch in one, as GRDB's own, and right about what the database gives.
///
/// GRDB's own methods read the row by `RETURNING`. SQLite computes that before the triggers of the statement run
/// (https://sqlite.org/lang_returning.html, section 3), so ``updateID`` would be the one before. That still holds for
/// GRDB's methods that take another type to fetch (`as:`) or a selection: fetch after the write instead.
extension FileData {
    /// Inserts the row and returns it as it is in the database then.
    ///
    /// - Throws: ``LFSError/Code/bytesMissing`` when the bytes are nowhere on this device, ``LFSError/Code/deleted``
    ///   while those of a deleted file with the id are being removed, and what GRDB throws.
    public func insertAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try insert(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Updates all columns of the row and returns it as it is in the database then.
    ///
    /// - Throws: what GRDB throws, such as `RecordError.recordNotFound` when there is no such row.
    public func updateAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try update(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Changes the record, updates the changed columns, and returns the row as it is in the database then; nil when
    /// nothing has changed.
    ///
    /// - Throws: what the closure throws, and what GRDB throws, such as `RecordError.recordNotFound`.
    public mutating func updateChangesAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil,
        modify: (inout FileData) throws -> Void
    ) throws -> FileData? {
        try updateChanges(db, onConflict: conflictResolution, modify: modify) ? written(db) : nil
    }

    /// Updates the row, or inserts it if it is not there, and returns it as it is in the database then.
    ///
    /// - Throws: as ``insertAndFetch(_:onConflict:)``.
    public func saveAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try save(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Inserts the row, or updates the one that is there, and returns it as it is in the database then.
    ///
    /// - Throws: as ``insertAndFetch(_:onConflict:)``.
    public func upsertAndFetch(
        _ db: Database, onConflict conflictTarget: [String] = [],
        updating strategy: UpsertUpdateStrategy = .allColumns,
        doUpdate assignments: ((_ excluded: TableAlias<FileData>) -> [ColumnAssignment])? = nil
    ) throws -> FileData {
        // Its `RETURNING` tells which row it was, for the target may be another column than the id.
        let returned = try upsertAndFetch(
            db, as: FileData.self, onConflict: conflictTarget, updating: strategy, doUpdate: assignments)
        return try returned.written(db)
    }

    /// The row that was just written.
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
