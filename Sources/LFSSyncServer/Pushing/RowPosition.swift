import LFSWire

extension TableSQL {
    /// The position with which a row comes to a session, and the first of them where it comes in several scopes.
    func position(of key: String, for session: SyncSession, _ db: any SQLConnection) throws -> SyncPosition? {
        let sql = """
            SELECT min(x.updateID) FROM (
                SELECT t.updateID FROM \(name) t JOIN sync_grant g ON g.scopeID = t.scopeID AND g.accountID = ?2
                WHERE t.id = ?1
                UNION ALL
                SELECT m.updateID FROM sync_member m JOIN sync_grant g ON g.scopeID = m.scopeID AND g.accountID = ?2
                JOIN \(name) t ON t.id = m.key
                WHERE m.tableName = \(Self.literal(table.name)) AND m.key = ?1 AND m.isDeleted = 0
                    AND t.scopeID <> ?3) x
            """
        return try db.firstText(sql, [.text(key), .text(session.account), .text(session.own.description)])
            .flatMap { SyncPosition($0) }
    }

    /// The position with which a row comes to a session in one scope; nil where it does not.
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
        return try db.firstText(sql, [.text(key), .text(session.account), .text(scope.description)])
            .flatMap { SyncPosition($0) }
    }
}
