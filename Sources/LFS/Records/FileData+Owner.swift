public import GRDB
import LFSDatabase

extension FileData {
    /// Makes the rows of a table the owners of the files that a column of theirs refers to. Call it in a migration.
    ///
    /// ```swift
    /// try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
    /// ```
    ///
    /// When a row is deleted, replaced, or refers to another file, its file is deleted once nothing refers to it: soon
    /// after the commit, or after the next ``LFSManager/start()``. It holds for every way to write: the record API, raw
    /// SQL, cascades, `INSERT OR REPLACE`, other programs. A file that moves from one owner to another within a
    /// transaction stays.
    ///
    /// What refers to a file is: every owner, and every other foreign key to `lfs_file` that would refuse the deletion.
    /// Any other column with the id of a file is not seen.
    ///
    /// - Parameters:
    ///   - table: The table of the owners. Renaming it later is fine. When a migration makes it anew, adds a unique
    ///     index to it, or renames the column, it calls this again.
    ///   - column: The column with the ids of files. It gets an index if it has none.
    ///   - db: The connection of the migration.
    /// - Throws: ``LFSError/Code/unsuitableOwner`` when there is no such table or column;
    ///   ``LFSError/Code/notMigrated`` when the migration runs before those of LFS.
    public static func deletedWithOwner(_ table: String, column: String, in db: Database) throws {
        do { try FileOwner.install(table, column, db) } catch { throw LFSError.wrapping(error) }
    }

    /// Undoes ``deletedWithOwner(_:column:in:)``: the files of this column stay when their rows go.
    ///
    /// - Throws: ``LFSError/Code/unsuitableOwner`` when the column owns no files.
    public static func keptWithoutOwner(_ table: String, column: String, in db: Database) throws {
        do { try FileOwner.uninstall(table, column, db) } catch { throw LFSError.wrapping(error) }
    }
}
