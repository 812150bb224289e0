public import GRDB
import LFSDatabase

extension FileData {
    /// Makes the rows of a table the owners of the files in one of its columns. Call it in a migration.
    ///
    /// ```swift
    /// try FileData.deletedWithOwner("recipe", column: "photoId", in: db)
    /// ```
    ///
    /// When a row is deleted, replaced, or refers to another file, its old file is deleted once no reference to it is
    /// left. That happens soon after the commit, or after the next ``LFSManager/start()``. It works for every kind of
    /// write: the record API, raw SQL, cascades, `INSERT OR REPLACE`, other programs. A file that moves from one owner
    /// to another within a transaction is kept.
    ///
    /// References to a file are all owners, and every other foreign key to `lfs_file` that would refuse the deletion.
    /// Other columns with ids of files are ignored.
    ///
    /// - Parameters:
    ///   - table: The table of the owners. It may be renamed later. A migration that recreates the table, adds a unique
    ///     index to it, or renames the column must call this method again.
    ///   - column: The column with the ids of files. It gets an index if it has none.
    ///   - db: The connection of the migration.
    /// - Throws: ``LFSError/Code/unsuitableOwner`` when the table or column does not exist, and
    ///   ``LFSError/Code/notMigrated`` when the migration runs before those of LFS.
    public static func deletedWithOwner(_ table: String, column: String, in db: Database) throws {
        do { try FileOwner.install(table, column: column, db) } catch { throw LFSError.wrapping(error) }
    }

    /// Undoes ``deletedWithOwner(_:column:in:)``. The files of this column are kept when their rows are deleted.
    ///
    /// - Throws: ``LFSError/Code/unsuitableOwner`` when the column owns no files.
    public static func keptWithoutOwner(_ table: String, column: String, in db: Database) throws {
        do { try FileOwner.uninstall(table, column: column, db) } catch { throw LFSError.wrapping(error) }
    }
}
