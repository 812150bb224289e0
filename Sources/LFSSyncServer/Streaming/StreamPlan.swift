import LFSWire

/// What a stream has to send, found out with one statement before its first line.
struct StreamPlan: Sendable {
    /// One type in one scope.
    struct Leg: Sendable {
        let table: CheckedSchema.Table
        let place: SyncToken.Place
        /// nil without a checkpoint: everything has to come.
        let checkpoint: SyncPosition?
        /// The scope's head when the stream began: what commits later comes with the next.
        let end: SyncPosition

        var start: SyncPosition { checkpoint ?? .start }
    }

    /// Types outside, parents first; scopes inside.
    let legs: [Leg]
    /// Scopes that the device has and may not read any more.
    let lost: [SyncScope]
    /// Those of the legs whose deletions are forgotten, so that the device begins them anew.
    let expired: [SyncToken.Place]
    let scopeCount: Int

    private struct Scope {
        let id: SyncScope
        let head: SyncPosition
        let prunedThrough: SyncPosition
        var checkpoints: [String: SyncPosition] = [:]
    }

    /// What a stream has sent already, of which the device may have said nothing yet.
    struct Sent: Sendable {
        var positions: [SyncToken.Place: SyncPosition] = [:]
        /// Scopes that the device was told to drop, and has not got again.
        var lost: Set<SyncScope> = []
        /// Those that it was told to drop at any time: what it has said of them before counts no more.
        var dropped: Set<SyncScope> = []

        mutating func drop(_ scope: SyncScope) {
            lost.insert(scope)
            dropped.insert(scope)
            positions = positions.filter { $0.key.scope != scope }
        }
    }

    /// Whether there is nothing to send.
    var isEmpty: Bool { legs.isEmpty && lost.isEmpty && expired.isEmpty }

    /// - Returns: nil when the session has ended, or begun anew.
    init?(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], of session: SyncSession, sent: Sent,
        ifCurrent: Void, _ db: any SQLConnection
    ) throws {
        guard try SessionTable.isCurrent(session, db) else { return nil }
        try self.init(types, of: session, sent: sent, db)
    }

    /// - Parameters:
    ///   - types: those that the device takes, parents first.
    ///   - sent: what this stream has sent already.
    init(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], of session: SyncSession, sent: Sent = Sent(),
        _ db: any SQLConnection
    ) throws {
        let (scopes, allLost) = try Self.scopes(of: session, db)
        let granted = Set(scopes.map(\.id))
        let unsaid = Set(sent.positions.keys.map(\.scope)).subtracting(granted).subtracting(allLost)
        let lost = (allLost + unsaid.sorted()).filter { !sent.lost.contains($0) }
        var legs: [Leg] = []
        var expired: [SyncToken.Place] = []
        for (table, type) in types {
            for scope in scopes {
                let place = SyncToken.Place(type, scope.id)
                var checkpoint = sent.dropped.contains(scope.id) ? nil : scope.checkpoints[type.description]
                if let already = sent.positions[place] { checkpoint = max(checkpoint ?? already, already) }
                if let found = checkpoint, found < scope.prunedThrough {
                    expired.append(place)
                    checkpoint = nil
                }
                guard checkpoint.map({ $0 < scope.head }) ?? true else { continue }
                legs.append(Leg(table: table, place: place, checkpoint: checkpoint, end: scope.head))
            }
        }
        (self.legs, self.lost, self.expired, scopeCount) = (legs, lost, expired, scopes.count)
    }

    private static func scopes(
        of session: SyncSession, _ db: any SQLConnection
    ) throws -> (granted: [Scope], lost: [SyncScope]) {
        var granted: [Scope] = []
        var lost: [SyncScope] = []
        let sql = """
            SELECT g.scopeID, s.head, s.prunedThrough, c.typeName, c.position
            FROM sync_grant g JOIN sync_scope s ON s.id = g.scopeID
            LEFT JOIN sync_checkpoint c ON c.sessionID = ?1 AND c.scopeID = g.scopeID
            WHERE g.accountID = ?2
            UNION ALL
            SELECT DISTINCT c.scopeID, NULL, NULL, NULL, NULL FROM sync_checkpoint c
            WHERE c.sessionID = ?1
                AND NOT EXISTS (SELECT 1 FROM sync_grant g WHERE g.accountID = ?2 AND g.scopeID = c.scopeID)
            ORDER BY 1
            """
        try db.query(sql, [.text(session.id), .text(session.account)]) { row in
            guard let id = try row.text(0).flatMap({ SyncScope($0) }) else {
                throw SQLFailure(.unusable, "A scope has an id that is none.")
            }
            guard let head = try row.text(1).flatMap({ SyncPosition($0) }),
                let pruned = try row.text(2).flatMap({ SyncPosition($0) })
            else {
                lost.append(id)
                return true
            }
            if granted.last?.id != id { granted.append(Scope(id: id, head: head, prunedThrough: pruned)) }
            if let type = try row.text(3), let position = try row.text(4).flatMap({ SyncPosition($0) }) {
                granted[granted.count - 1].checkpoints[type] = position
            }
            return true
        }
        return (granted, lost)
    }
}
