import LFSWire

extension TableSQL {
    /// Returns the position of a row for a session. If several scopes supply the row, it is the first of the positions.
    func position(of key: String, for session: SyncSession, _ db: any SQLConnection) throws -> SyncPosition? {
        try db.firstText(
            positionQuery, arguments: [.text(key), .text(session.account), .text(session.own.description)]
        ).flatMap { SyncPosition($0) }
    }

    /// Returns a query for the position of the row `?1` for the account `?2` with the own scope `?3`.
    var positionQuery: String {
        """
        SELECT min(x.updateID) FROM (
            SELECT r.updateID FROM \(name) r JOIN sync_grant g ON g.scopeID = r.scopeID AND g.accountID = ?2
            WHERE r.id = ?1
            UNION ALL
            SELECT m.updateID FROM sync_member m JOIN sync_grant g ON g.scopeID = m.scopeID AND g.accountID = ?2
            JOIN \(name) r ON r.id = m.key
            WHERE m.tableName = \(Self.literal(table.name)) AND m.key = ?1 AND m.isDeleted = 0
                AND r.scopeID <> ?3) x
        """
    }

    /// Returns the position of a row for a session in one scope. Nil if the scope does not supply the row to the
    /// session.
    func position(
        of key: String, in scope: SyncScope, for session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncPosition? {
        let sql = """
            SELECT min(x.updateID) FROM (
                SELECT t.updateID FROM \(name) t WHERE t.id = ?1 AND t.scopeID = ?3
                UNION ALL
                SELECT m.updateID FROM sync_member m
                WHERE m.scopeID = ?3 AND m.tableName = \(Self.literal(table.name)) AND m.key = ?1 AND m.isDeleted = 0) x
            WHERE EXISTS (SELECT 1 FROM sync_grant g WHERE g.scopeID = ?3 AND g.accountID = ?2)
            """
        return try db.firstText(sql, arguments: [.text(key), .text(session.account), .text(scope.description)])
            .flatMap { SyncPosition($0) }
    }
}
