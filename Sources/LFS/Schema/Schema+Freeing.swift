extension Schema {
    /// What freeing adds in the second version.
    static let freeing = """
        -- Whether the rows are gone and their bytes are still to go: see LFSManager.reset.
        ALTER TABLE lfs_state ADD COLUMN isResetting INTEGER NOT NULL DEFAULT 0;
        """
}
