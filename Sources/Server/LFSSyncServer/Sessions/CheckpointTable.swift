import LFSWire

/// The table `sync_checkpoint` of the positions that each session has reached.
enum CheckpointTable {
    /// Returns the maximum number of checkpoints of a session. A device with all types of as many scopes as an account
    /// can have needs half of it.
    ///
    /// The checkpoints of a lost scope stay until the device has acknowledged its end. A device that acknowledges none,
    /// while its account creates and deletes scopes, reaches the limit. It then receives new scopes without
    /// checkpoints, and receives them again in the next stream.
    ///
    /// - Parameter types: the number of types in all their versions.
    static func limit(types: Int) -> Int { 4 * (AccountLimit.sharedScopes + 1) * types }

    /// Records what a device has received. The furthest position of each type and scope wins, so a late batch takes
    /// nothing back. Tokens of another epoch or of an unknown type have no effect.
    ///
    /// - Parameters:
    ///   - types: the existing types.
    ///   - isClaim: true if the device says with an empty list that the server has the batch.
    ///   - now: milliseconds since 1970.
    /// - Throws: ``AckFailure``, also for a position that no row has reached.
    static func apply(
        _ batch: SyncAckBatch, of session: SyncSession, types: Set<String>, isClaim: Bool, at now: Int64,
        _ db: any SQLConnection
    ) throws {
        if session.has(batch) { return }
        // A device that has started over continues with its own batch number.
        let begins = session.resetReason != nil && batch.tokens.contains { $0.isReset(of: session) }
        func gap() throws -> AckFailure {
            try isOnlyNew(session, batch: batch, db) ? .newSession : .newerDevice
        }
        guard begins || batch.number > session.lastBatch else { throw AckFailure.olderCopy }
        guard begins || batch.number == session.lastBatch + 1 else { throw try gap() }
        // The device has sent the batch before, with tokens, or has another previous batch than the server.
        guard begins || !(isClaim && batch.tokens.isEmpty) else { throw try gap() }
        guard begins || batch.after.map({ $0 == session.lastBatchID }) ?? true else { throw try gap() }
        var room = CheckpointRoom(limit: limit(types: types.count))
        // Departures come first. Other tokens of a left scope are from the time after the departure.
        let isLeaving = { (token: SyncToken) in token.place.type.description == SyncLine.Name.scopeDeleted }
        for token in batch.tokens.filter(isLeaving) + batch.tokens.filter({ !isLeaving($0) })
        where token.epoch == session.epoch {
            switch token.place.type.description {
            case SyncLine.Name.complete: break
            case SyncLine.Name.reset:
                try restart(session, at: now, db)
                // The other tokens of the batch belong to the previous epoch.
                return try note(batch, of: session, db)
            case SyncLine.Name.scopeDeleted: try leave(token.place.scope, session: session, db)
            case let type where types.contains(type): try advance(token, of: session, room: &room, at: now, db)
            default: break
            }
        }
        try note(batch, of: session, db)
    }

    /// Returns true if only the session is new. It then lacks the batches of an earlier session of the device, but this
    /// database has the history that the device names, up to the position that it has reached.
    private static func isOnlyNew(
        _ session: SyncSession, batch: SyncAckBatch, _ db: any SQLConnection
    ) throws -> Bool {
        guard session.isNew, batch.history == session.historyID else { return false }
        guard let reached = batch.reached else { return true }
        let sql = "SELECT head FROM sync_scope WHERE id = ?1"
        let head = try db.firstText(sql, arguments: [.text(session.own.description)])
        return reached.text <= head ?? ""
    }

    private static func note(_ batch: SyncAckBatch, of session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "UPDATE sync_session SET lastBatch = ?2, lastBatchID = ?3 WHERE id = ?1",
            arguments: [.text(session.id), .integer(batch.number), .text(batch.id)])
    }

    /// Records that segments have started. From then on, their rows may be on the device, acknowledged or not. The
    /// device must therefore be informed when it may no longer read their scope.
    ///
    /// - Parameter types: the number of types in all their versions.
    static func begin(
        _ legs: [(place: SyncToken.Place, head: SyncPosition)], of session: SyncSession, types: Int, at now: Int64,
        _ db: any SQLConnection
    ) throws {
        if legs.isEmpty { return }
        var room = CheckpointRoom(limit: limit(types: types))
        for leg in legs.prefix(try room.left(for: session, db)) {
            try db.execute(
                """
                INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position, begunAt, createdAt, updatedAt)
                SELECT s.id, ?2, ?3, '', ?4, ?6, ?6 FROM sync_session s WHERE s.id = ?1 AND s.epoch = ?5
                ON CONFLICT (sessionID, scopeID, typeName) DO NOTHING
                """,
                arguments: [
                    .text(session.id), .text(leg.place.scope.description), .text(leg.place.type.description),
                    .text(leg.head.text), .integer(session.epoch), .integer(now),
                ])
        }
    }

    /// Makes a device start segments over, in a new epoch. An ack that is still on its way has no effect on them.
    static func restart(
        _ legs: [(place: SyncToken.Place, head: SyncPosition)], reason: SyncReset.Reason, of session: SyncSession,
        at now: Int64, _ db: any SQLConnection
    ) throws {
        for leg in legs {
            try db.execute(
                """
                UPDATE sync_checkpoint SET position = '', begunAt = ?4, resetReason = ?5, updatedAt = ?6
                WHERE sessionID = ?1 AND scopeID = ?2 AND typeName = ?3
                """,
                arguments: [
                    .text(session.id), .text(leg.place.scope.description), .text(leg.place.type.description),
                    .text(leg.head.text), .text(reason.rawValue), .integer(now),
                ])
        }
        try db.execute("UPDATE sync_session SET epoch = epoch + 1 WHERE id = ?1", arguments: [.text(session.id)])
    }

    private static func advance(
        _ token: SyncToken, of session: SyncSession, room: inout CheckpointRoom, at now: Int64, _ db: any SQLConnection
    ) throws {
        let scope = SQLValue.text(token.place.scope.description)
        let granted = """
            SELECT s.head FROM sync_scope s JOIN sync_grant g ON g.scopeID = s.id WHERE s.id = ?1 AND g.accountID = ?2
            """
        // The right was withdrawn in the meantime. The checkpoints of the scope ensure that the device still hears of
        // its end.
        guard let head = try db.firstText(granted, arguments: [scope, .text(session.account)]) else { return }
        // The position belongs to a history that this database does not contain.
        guard token.position.text <= head else { throw AckFailure.newerDevice }
        let arguments: [SQLValue] = [
            .text(session.id), scope, .text(token.place.type.description), .text(token.position.text), .integer(now),
        ]
        let changedCount = try db.execute(
            """
            UPDATE sync_checkpoint SET position = ?4, resetReason = NULL, updatedAt = ?5
            WHERE sessionID = ?1 AND scopeID = ?2 AND typeName = ?3 AND position < ?4
            """, arguments: arguments)
        // The device has left the scope in the same batch, or has acknowledged a later position before.
        guard changedCount == 0, try room.left(for: session, db) > 0 else { return }
        let addedCount = try db.execute(
            """
            INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position, createdAt, updatedAt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (sessionID, scopeID, typeName) DO NOTHING
            """, arguments: arguments)
        room.take(addedCount)
    }

    /// Records that the device has started over, with its positions and the numbers of its mutations. Any number may be
    /// the next.
    private static func restart(_ session: SyncSession, at now: Int64, _ db: any SQLConnection) throws {
        try forget(nil, of: session, at: now, db)
        try db.execute("DELETE FROM sync_mutation WHERE sessionID = ?1", arguments: [.text(session.id)])
        try db.execute(
            """
            UPDATE sync_session SET epoch = epoch + 1, resetReason = NULL, lastSequence = -1,
                historyID = (SELECT historyID FROM sync_state WHERE id = 1)
            WHERE id = ?1
            """, arguments: [.text(session.id)])
    }

    /// Removes the checkpoints of a scope that the device has dropped. If the account was given access again in the
    /// meantime, the device receives the whole scope again.
    private static func leave(_ scope: SyncScope, session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "DELETE FROM sync_checkpoint WHERE sessionID = ?1 AND scopeID = ?2",
            arguments: [.text(session.id), .text(scope.description)])
    }

    /// Returns the session's checkpoints as tokens, sorted by scope and type.
    static func tokens(of session: SyncSession, _ db: any SQLConnection) throws -> [SyncToken] {
        var tokens: [SyncToken] = []
        let sql =
            "SELECT typeName, scopeID, position FROM sync_checkpoint WHERE sessionID = ?1 AND position <> ''"
            + " ORDER BY scopeID, typeName"
        try db.query(sql, arguments: [.text(session.id)]) { row in
            guard let type = try row.text(0).flatMap({ SyncType($0) }),
                let scope = try row.text(1).flatMap({ SyncScope($0) }),
                let position = try row.text(2).flatMap({ SyncPosition($0) })
            else { throw SQLFailure(.unusable, message: "A row of sync_checkpoint cannot be read.") }
            tokens.append(SyncToken(.init(type, scope: scope), position: position, epoch: session.epoch))
            return true
        }
        return tokens
    }

    /// Makes the session start some types over, or all types. The record that it had started them stays, because their
    /// rows may be on the device when it loses the right to them.
    ///
    /// - Parameter types: the names of the types with their versions, or nil for all types.
    static func forget(
        _ types: Set<String>?, of session: SyncSession, at now: Int64, _ db: any SQLConnection
    ) throws {
        let sql = """
            UPDATE sync_checkpoint SET position = '', resetReason = NULL, updatedAt = ?2,
                begunAt = coalesce((SELECT s.head FROM sync_scope s WHERE s.id = sync_checkpoint.scopeID), '')
            WHERE sessionID = ?1
            """
        guard let types else {
            try db.execute(sql, arguments: [.text(session.id), .integer(now)])
            return
        }
        for type in types.sorted() {
            try db.execute(
                sql + " AND typeName = ?3", arguments: [.text(session.id), .integer(now), .text(type)])
        }
    }

    /// Returns the times at which a session began its types and last reported something of them, sorted by type.
    static func contacts(ofSession id: String, _ db: any SQLConnection) throws -> [SyncSessionInfo.Contact] {
        var times: [String: (first: Int64, last: Int64)] = [:]
        let sql = "SELECT typeName, createdAt, updatedAt FROM sync_checkpoint WHERE sessionID = ?1"
        try db.query(sql, arguments: [.text(id)]) { row in
            guard let type = try row.text(0), let createdAt = try row.integer(1), let updatedAt = try row.integer(2)
            else { throw SQLFailure(.unusable, message: "A row of sync_checkpoint lacks a value.") }
            let known = times[type] ?? (createdAt, updatedAt)
            times[type] = (min(known.first, createdAt), max(known.last, updatedAt))
            return true
        }
        return times.sorted { $0.key < $1.key }.map { type, times in
            SyncSessionInfo.Contact(
                type: type, firstAt: times.first > 0 ? Milliseconds.date(times.first) : nil,
                lastAt: times.last > 0 ? Milliseconds.date(times.last) : nil)
        }
    }
}

/// The room for further checkpoints of a session. It is read when it is first needed.
private struct CheckpointRoom {
    let limit: Int
    private var found: Int?

    init(limit: Int) { self.limit = limit }

    mutating func left(for session: SyncSession, _ db: any SQLConnection) throws -> Int {
        if let found { return found }
        var count: Int64 = 0
        try db.query("SELECT count(*) FROM sync_checkpoint WHERE sessionID = ?1", arguments: [.text(session.id)]) {
            count = try $0.integer(0) ?? 0
            return false
        }
        let left = max(0, limit - Int(count))
        found = left
        return left
    }

    mutating func take(_ count: Int) { found = found.map { $0 - count } }
}

extension SyncToken {
    /// Returns true if the token acknowledges that the device starts over completely.
    fileprivate func isReset(of session: SyncSession) -> Bool {
        epoch == session.epoch && place.type.description == SyncLine.Name.reset
    }
}

/// A reason why a batch of acks contradicts the server's history.
enum AckFailure: Error, Sendable {
    /// The device's database is an older copy: the server has received the batch's number before.
    case olderCopy
    /// The server's database is an older copy: it lacks a batch.
    case newerDevice
    /// The device has signed in again since it received the rows of the server's current history. It must not send what
    /// the server lacks, because other devices have deleted those rows.
    case newSession

    /// The reason of the reset that the session needs.
    var resetReason: SyncReset.Reason {
        switch self {
        case .olderCopy: .copy
        case .newerDevice: .history
        case .newSession: .requested
        }
    }
}
