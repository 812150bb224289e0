extension Triggers {
    /// What checking changes in the second version of the schema.
    ///
    /// A job on a `remote` row is an upload that has to be done again, or the note that the bytes are lost. An app that
    /// saves the row in between writes its status as well, and that must not end the job: only the step from `local`
    /// to `remote` does, unless it only restores what an `INSERT OR REPLACE` has put in its place; and for an upload that
    /// was done again the one who recorded it.
    static let checking = [
        "DROP TRIGGER lfs_file_uploaded",
        """
        CREATE TRIGGER lfs_file_uploaded AFTER UPDATE OF status ON lfs_file
        WHEN OLD.status = 'local' AND NEW.status = 'remote'
            AND NOT EXISTS (SELECT 1 FROM lfs_replaced WHERE fileID = NEW.id)
        BEGIN DELETE FROM lfs_job WHERE fileID = NEW.id; END
        """,
    ]
}
