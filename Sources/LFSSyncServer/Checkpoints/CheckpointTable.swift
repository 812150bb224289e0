import LFSWire

/// `sync_checkpoint`: how far each session has come.
enum CheckpointTable {
    /// Takes what a device has. The furthest position of each type and scope counts, so that a late batch takes nothing
    /// back, and one of another epoch says nothing.
    ///
    /// - Throws: ``AckFailure``, also for a position that no row has come to.
    static func apply(_ batch: SyncAckBatch, of session: SyncSession, _ db: any SQLConnection) throws {
        if session.has(batch) { return }
        // With the answer to a reset both begin anew, whatever their numbers were.
        let restarts =
            session.resetReason != nil
            && batch.tokens.contains { $0.epoch == session.epoch && $0.place.type.description == SyncLine.Name.reset }
        if !restarts {
            guard batch.number > session.lastBatch else { throw AckFailure.olderCopy }
            guard batch.number == session.lastBatch + 1 else { throw AckFailure.newerDevice }
        }
        // What came of a scope after it was left comes after that.
        let isLeaving = { (token: SyncToken) in token.place.type.description == SyncLine.Name.scopeDeleted }
        for token in batch.tokens.filter(isLeaving) + batch.tokens.filter({ !isLeaving($0) })
        where token.epoch == session.epoch {
            switch token.place.type.description {
            case SyncLine.Name.complete: break
            case SyncLine.Name.reset: try restart(session, db)
            case SyncLine.Name.scopeDeleted: try leave(token.place.scope, session, db)
            default: try advance(token, of: session, db)
            }
        }
        try db.execute(
            "UPDATE sync_session SET lastBatch = ?2, lastBatchID = ?3 WHERE id = ?1",
            [.text(session.id), .integer(batch.number), .text(batch.id)])
    }

    private static func advance(_ token: SyncToken, of session: SyncSession, _ db: any SQLConnection) throws {
        let scope = SQLValue.text(token.place.scope.description)
        var head: String?
        let granted = """
            SELECT s.head FROM sync_scope s JOIN sync_grant g ON g.scopeID = s.id WHERE s.id = ?1 AND g.accountID = ?2
            """
        try db.query(granted, [scope, .text(session.account)]) { row in
            head = try row.text(0)
            return false
        }
        guard let head else {
            // A right that was withdrawn meanwhile. The device has rows of the scope, so it has to hear of its end.
            try note(scope, token.place.type, .start, session, db)
            return
        }
        // It comes from a time that this database has not seen.
        guard token.position.text <= head else { throw AckFailure.newerDevice }
        try note(scope, token.place.type, token.position, session, db)
    }

    private static func note(
        _ scope: SQLValue, _ type: SyncType, _ position: SyncPosition, _ session: SyncSession, _ db: any SQLConnection
    ) throws {
        try db.execute(
            """
            INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (sessionID, scopeID, typeName) DO UPDATE SET position = excluded.position
            WHERE sync_checkpoint.position < excluded.position
            """,
            [.text(session.id), scope, .text(type.description), .text(position.text)])
    }

    /// The device has begun anew, with its positions and with the numbers of its mutations.
    private static func restart(_ session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute("DELETE FROM sync_checkpoint WHERE sessionID = ?1", [.text(session.id)])
        try db.execute("DELETE FROM sync_mutation WHERE sessionID = ?1", [.text(session.id)])
        try db.execute(
            """
            UPDATE sync_session SET epoch = epoch + 1, resetReason = NULL, lastSequence = 0,
                historyID = (SELECT historyID FROM sync_state WHERE id = 1)
            WHERE id = ?1
            """, [.text(session.id)])
    }

    /// The device has dropped a scope. If it was given access again meanwhile, everything has to come.
    private static func leave(_ scope: SyncScope, _ session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "DELETE FROM sync_checkpoint WHERE sessionID = ?1 AND scopeID = ?2",
            [.text(session.id), .text(scope.description)])
    }

    /// The session's checkpoints as tokens, in their order.
    static func tokens(of session: SyncSession, _ db: any SQLConnection) throws -> [SyncToken] {
        var tokens: [SyncToken] = []
        let sql =
            "SELECT typeName, scopeID, position FROM sync_checkpoint WHERE sessionID = ?1 ORDER BY scopeID, typeName"
        try db.query(sql, [.text(session.id)]) { row in
            guard let type = try row.text(0).flatMap({ SyncType($0) }),
                let scope = try row.text(1).flatMap({ SyncScope($0) }),
                let position = try row.text(2).flatMap({ SyncPosition($0) })
            else { throw SQLFailure(.unusable, "A row of sync_checkpoint cannot be read.") }
            tokens.append(SyncToken(.init(type, scope), position, epoch: session.epoch))
            return true
        }
        return tokens
    }

    /// Removes those of the types, or all.
    static func remove(_ types: [SyncType]?, of session: SyncSession, _ db: any SQLConnection) throws {
        guard let types else {
            try db.execute("DELETE FROM sync_checkpoint WHERE sessionID = ?1", [.text(session.id)])
            return
        }
        for type in types {
            try db.execute(
                "DELETE FROM sync_checkpoint WHERE sessionID = ?1 AND typeName = ?2",
                [.text(session.id), .text(type.description)])
        }
    }
}

/// Why a batch of acks tells of another past than the server's.
enum AckFailure: Error, Sendable {
    /// The device's database is an older copy: the batch came before.
    case olderCopy
    /// The server's is: it has missed a batch.
    case newerDevice
}
