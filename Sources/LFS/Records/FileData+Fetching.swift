public import GRDB

/// The forms that write and fetch in one, as GRDB's own, and right about what the database gives.
///
/// GRDB's read the row by `RETURNING`, which SQLite computes before the triggers behind the statement run
/// (lang_returning.html, section 3): ``updateID`` would be the one before. So do those that take another type to fetch
/// (`as:`) or a selection; fetch that after the write instead.
extension FileData {
    /// Inserts the row and returns it as it is in the database then.
    public func insertAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try insert(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Updates all columns of the row and returns it as it is in the database then.
    public func updateAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try update(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Changes the record, updates the changed columns, and returns the row as it is in the database then; nil when
    /// nothing has changed.
    public mutating func updateChangesAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil,
        modify: (inout FileData) throws -> Void
    ) throws -> FileData? {
        try updateChanges(db, onConflict: conflictResolution, modify: modify) ? written(db) : nil
    }

    /// Updates the row, or inserts it if it is not there, and returns it as it is in the database then.
    public func saveAndFetch(
        _ db: Database, onConflict conflictResolution: Database.ConflictResolution? = nil
    ) throws -> FileData {
        try save(db, onConflict: conflictResolution)
        return try written(db)
    }

    /// Inserts the row, or updates the one that is there, and returns it as it is in the database then.
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
            throw RecordError.recordNotFound(databaseTableName: FileData.databaseTableName, key: ["id": id.databaseValue])
        }
        return file
    }
}
