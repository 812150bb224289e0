import LFSSystem

/// The comparison of a store with the mark of an earlier one.
struct HistoryCheck: Sendable {
    /// The reasons why a store is taken for an older copy.
    enum Finding: String, Sendable {
        case mark = "The database lacks the last mark of this server."
        case cluster = "The database is in another PostgreSQL cluster, or on another timeline, than at its last mark."
    }

    let mark: SyncHistoryMark
    /// The reason why the store is an older copy, or nil if it is not.
    let finding: Finding?

    /// Compares the store with a mark, and gives it the next one. An older copy gets a new history.
    ///
    /// - Parameter last: the last mark, or nil at the first comparison.
    init(after last: SyncHistoryMark?, _ db: any SQLConnection) throws {
        let state = try SchemaTable.history(db)
        let cluster = try Self.cluster(db)
        if let last, state.count < last.count || state.count == last.count && state.id != last.id {
            finding = .mark
        } else if let cluster, !state.cluster.isEmpty, cluster != state.cluster {
            finding = .cluster
        } else {
            finding = nil
        }
        // Another program may have written a count to which nothing can be added.
        var count = min(state.count, SyncHistoryMark.largestCount / 2)
        if finding != nil {
            // Other servers with marks of the lost history see a count that is larger than theirs.
            count = max(count, min(last?.count ?? 0, SyncHistoryMark.largestCount / 2)) + SyncHistoryMark.leap
            try SchemaTable.renewHistory(db)
        }
        mark = SyncHistoryMark(count: count + 1, id: FileID.make().text)
        try SchemaTable.note(mark, cluster: cluster ?? state.cluster, db)
    }

    /// Returns the identity of a PostgreSQL cluster and its timeline. A restore in another cluster changes the first,
    /// and one to a point in time the second. Nil on SQLite, and if the user may not read them.
    private static func cluster(_ db: any SQLConnection) throws -> String? {
        guard db.dialect == .postgres else { return nil }
        let isPermitted = "SELECT 'yes' WHERE has_function_privilege('pg_control_system()', 'EXECUTE')"
        guard try db.firstText(isPermitted, arguments: []) != nil else { return nil }
        // The name of the current file of the write-ahead log begins with the timeline.
        return try db.firstText(
            """
            SELECT s.system_identifier || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
            FROM pg_control_system() s
            """, arguments: [])
    }
}
