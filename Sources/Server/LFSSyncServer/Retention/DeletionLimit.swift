import LFSWire

/// The limit of the records of deletions in a scope.
///
/// If a scope has more records than rows, its oldest records are removed before their time. A device that lacks them
/// starts the scope over, as after ``SyncService/prune(olderThan:)``, and receives at most as many rows as there were
/// records. No change is refused for this reason. An account that deletes everything can go on, and an account that may
/// change rows of another one cannot stop it.
struct DeletionLimit: Sendable {
    /// The number of records that an account's own scope keeps in any case.
    static let ofAccount: Int64 = 10_000
    /// The number of records that a shared scope keeps in any case. An account may have a thousand such scopes.
    static let ofSharedScope: Int64 = 1_000
    /// The maximum number of records that are removed at once, so that a push does not take long. It is larger than the
    /// number of rows that a push can create.
    static let step: Int64 = 2_000

    private let tables: [String]

    init(_ schema: CheckedSchema) { tables = schema.tables.map(\.name) }

    /// Removes the oldest half of the records of a scope with too many of them, or the largest part that one step
    /// permits. The transaction holds the scope, or is about to.
    ///
    /// - Parameters:
    ///   - rows: the number of rows or entries of the scope.
    ///   - deletions: the number of its records of deletions.
    func apply(to scope: String, rows: Int64, deletions: Int64, _ db: any SQLConnection) throws {
        let isShared = SyncScope(scope)?.kind != SyncScope.accountKind
        guard deletions > max(rows, isShared ? Self.ofSharedScope : Self.ofAccount) else { return }
        let records = isShared ? "sync_member" : "sync_tombstone"
        let condition = "scopeID = ?1 AND tableName = ?2" + (isShared ? " AND isDeleted = 1" : "")
        let count = min(deletions / 2, Self.step)
        var found: [(position: String, table: String)] = []
        // The index of positions begins with the table.
        for table in tables {
            try db.query(
                "SELECT updateID FROM \(records) WHERE \(condition) ORDER BY updateID LIMIT ?3",
                arguments: [.text(scope), .text(table), .integer(count)]
            ) { row in
                if let position = try row.text(0) { found.append((position, table)) }
                return true
            }
        }
        found.sort { $0.position < $1.position }
        let oldest = found.prefix(Int(count))
        guard let last = oldest.last?.position else { return }
        for table in Set(oldest.map(\.table)).sorted() {
            try db.execute(
                "DELETE FROM \(records) WHERE \(condition) AND updateID <= ?3",
                arguments: [.text(scope), .text(table), .text(last)])
        }
        try db.execute(
            "UPDATE sync_scope SET prunedThrough = ?2 WHERE id = ?1 AND prunedThrough < ?2",
            arguments: [.text(scope), .text(last)])
    }
}
