import LFSWire

/// `sync_checkpoint`: how far each session has come.
enum CheckpointTable {
    /// Takes what a device has. The furthest position of each type and scope counts, so that a late batch takes nothing
    /// back, and one of another epoch, or of a type that there is not, says nothing.
    ///
    /// - Parameter types: those that there are.
    /// - Throws: ``AckFailure``, also for a position that no row has come to.
    static func apply(
        _ batch: SyncAckBatch, of session: SyncSession, types: Set<String>, _ db: any SQLConnection
    ) throws {
        if session.has(batch) { return }
        // Whoever has begun anew counts on from where he is.
        let begins = session.resetReason != nil && batch.tokens.contains { $0.isReset(of: session) }
        guard begins || batch.number > session.lastBatch else { throw AckFailure.olderCopy }
        guard begins || batch.number == session.lastBatch + 1 else { throw AckFailure.newerDevice }
        // What came of a scope after it was left comes after that.
        let isLeaving = { (token: SyncToken) in token.place.type.description == SyncLine.Name.scopeDeleted }
        for token in batch.tokens.filter(isLeaving) + batch.tokens.filter({ !isLeaving($0) })
        where token.epoch == session.epoch {
            switch token.place.type.description {
            case SyncLine.Name.complete: break
            case SyncLine.Name.reset:
                try restart(session, db)
                // What else the batch says is of the epoch before.
                return try note(batch, of: session, db)
            case SyncLine.Name.scopeDeleted: try leave(token.place.scope, session, db)
            case let type where types.contains(type): try advance(token, of: session, db)
            default: break
            }
        }
        try note(batch, of: session, db)
    }

    private static func note(_ batch: SyncAckBatch, of session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_session SET lastBatch = ?2, lastBatchID = ?3 WHERE id = ?1",
            [.text(session.id), .integer(batch.number), .text(batch.id)])
    }

    /// Notes that legs have begun: from now on their rows may be on the device, acknowledged or not, so that it has to
    /// hear when it may not read their scope any more.
    static func begin(
        _ legs: [(place: SyncToken.Place, head: SyncPosition)], of session: SyncSession, _ db: any SQLConnection
    ) throws {
        for leg in legs {
            try db.execute(
                """
                INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position, begunAt)
                SELECT s.id, ?2, ?3, '', ?4 FROM sync_session s WHERE s.id = ?1 AND s.epoch = ?5
                ON CONFLICT (sessionID, scopeID, typeName) DO NOTHING
                """,
                [
                    .text(session.id), .text(leg.place.scope.description), .text(leg.place.type.description),
                    .text(leg.head.text), .integer(session.epoch),
                ])
        }
    }

    /// Makes a device begin legs anew, in another epoch: an ack that is under way says nothing of them any more.
    static func restart(
        _ legs: [(place: SyncToken.Place, head: SyncPosition)], _ reason: SyncReset.Reason, of session: SyncSession,
        _ db: any SQLConnection
    ) throws {
        for leg in legs {
            try db.execute(
                """
                UPDATE sync_checkpoint SET position = '', begunAt = ?4, resetReason = ?5
                WHERE sessionID = ?1 AND scopeID = ?2 AND typeName = ?3
                """,
                [
                    .text(session.id), .text(leg.place.scope.description), .text(leg.place.type.description),
                    .text(leg.head.text), .text(reason.rawValue),
                ])
        }
        try db.execute("UPDATE sync_session SET epoch = epoch + 1 WHERE id = ?1", [.text(session.id)])
    }

    private static func advance(_ token: SyncToken, of session: SyncSession, _ db: any SQLConnection) throws {
        let scope = SQLValue.text(token.place.scope.description)
        let granted = """
            SELECT s.head FROM sync_scope s JOIN sync_grant g ON g.scopeID = s.id WHERE s.id = ?1 AND g.accountID = ?2
            """
        // A right that was withdrawn meanwhile: what was begun with it says that the scope's end is still to come.
        guard let head = try db.firstText(granted, [scope, .text(session.account)]) else { return }
        // It comes from a time that this database has not seen.
        guard token.position.text <= head else { throw AckFailure.newerDevice }
        try db.execute(
            """
            INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (sessionID, scopeID, typeName) DO UPDATE SET position = excluded.position, resetReason = NULL
            WHERE sync_checkpoint.position < excluded.position
            """,
            [.text(session.id), scope, .text(token.place.type.description), .text(token.position.text)])
    }

    /// The device has begun anew, with its positions and with the numbers of its mutations: any may be the next.
    private static func restart(_ session: SyncSession, _ db: any SQLConnection) throws {
        try forget(nil, of: session, db)
        try db.execute("DELETE FROM sync_mutation WHERE sessionID = ?1", [.text(session.id)])
        try db.execute(
            """
            UPDATE sync_session SET epoch = epoch + 1, resetReason = NULL, lastSequence = -1,
                historyID = (SELECT historyID FROM sync_state WHERE id = 1)
            WHERE id = ?1
            """, [.text(session.id)])
    }

    /// The device has dropped a scope. Where it was given access again meanwhile, all of it comes anew.
    private static func leave(_ scope: SyncScope, _ session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "DELETE FROM sync_checkpoint WHERE sessionID = ?1 AND scopeID = ?2",
            [.text(session.id), .text(scope.description)])
    }

    /// The session's checkpoints as tokens, in their order.
    static func tokens(of session: SyncSession, _ db: any SQLConnection) throws -> [SyncToken] {
        var tokens: [SyncToken] = []
        let sql =
            "SELECT typeName, scopeID, position FROM sync_checkpoint WHERE sessionID = ?1 AND position <> ''"
            + " ORDER BY scopeID, typeName"
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

    /// Lets the session begin the types anew, or all. That it has begun them stays: their rows may be on the device
    /// when it loses the right to them.
    static func forget(_ types: [SyncType]?, of session: SyncSession, _ db: any SQLConnection) throws {
        let sql = """
            UPDATE sync_checkpoint SET position = '', resetReason = NULL,
                begunAt = coalesce((SELECT s.head FROM sync_scope s WHERE s.id = sync_checkpoint.scopeID), '')
            WHERE sessionID = ?1
            """
        guard let types else {
            try db.execute(sql, [.text(session.id)])
            return
        }
        for type in types {
            try db.execute(sql + " AND typeName = ?2", [.text(session.id), .text(type.description)])
        }
    }
}

extension SyncToken {
    /// Whether it says that the device begins all anew.
    fileprivate func isReset(of session: SyncSession) -> Bool {
        epoch == session.epoch && place.type.description == SyncLine.Name.reset
    }
}

/// Why a batch of acks tells of another past than the server's.
enum AckFailure: Error, Sendable {
    /// The device's database is an older copy: the batch came before.
    case olderCopy
    /// The server's is: it has missed a batch.
    case newerDevice
}
