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
        /// Deletions up to here are nothing to the device.
        let begunAt: SyncPosition
        /// Whether the session has never begun it.
        var isFresh = false
        /// Deletions up to here are not sent: the device has said that it has no row.
        var deletionsAfter = SyncPosition.start

        var start: SyncPosition { checkpoint ?? .start }
    }

    /// Types outside, parents first; scopes inside.
    let legs: [Leg]
    /// Scopes that the device has and may not read any more.
    let lost: [SyncScope]
    /// Those of the legs whose deletions are forgotten, so that the device begins them anew: it is told until it has
    /// acknowledged something of them.
    let expired: [(place: SyncToken.Place, reason: SyncReset.Reason)]
    /// Those of them that were found just now.
    let newlyExpired: [Leg]
    let scopeCount: Int

    private struct Scope {
        let id: SyncScope
        let text: String
        let head: SyncPosition
        let prunedThrough: SyncPosition
        /// Of some types: a list is faster than a dictionary, and an account may have a thousand scopes.
        var checkpoints: [Checkpoint] = []
    }

    private struct Checkpoint {
        let type: String
        let position: SyncPosition
        let begunAt: SyncPosition
        let resetReason: SyncReset.Reason?
    }

    /// What a stream has sent already, of which the device may have said nothing yet.
    struct Sent: Sendable {
        var positions: [SyncToken.Place: SyncPosition] = [:]
        /// Scopes that the device was told to drop, and has not got again.
        var lost: Set<SyncScope> = []
        /// Those that it was told to drop at any time: what it has said of them before counts no more.
        var dropped: Set<SyncScope> = []
        /// What it was told to begin anew.
        var expired: Set<SyncToken.Place> = []

        mutating func drop(_ scope: SyncScope) {
            lost.insert(scope)
            dropped.insert(scope)
            positions = positions.filter { $0.key.scope != scope }
        }
    }

    /// Whether there is nothing to send.
    var isEmpty: Bool { legs.isEmpty && lost.isEmpty && expired.isEmpty }

    /// Legs of which the session has no checkpoint yet: they need one, so that the end of their scope is told.
    var fresh: [Leg] { legs.filter(\.isFresh) }

    /// - Parameters:
    ///   - types: those that the device takes, parents first.
    ///   - sharing: which tables shared scopes have rows of.
    ///   - isEmpty: whether the device has said that it has no row.
    ///   - sent: what this stream has sent already.
    init(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], _ sharing: CheckedSharing, of session: SyncSession,
        isEmpty: Bool = false, sent: Sent = Sent(),
        _ db: any SQLConnection
    ) throws {
        let found = try Self.scopes(of: session, types, sharing, isWhole: !sent.dropped.isEmpty, db)
        let scopes = found.granted
        let lost = found.lost.filter { !sent.lost.contains($0) }
        var legs: [Leg] = []
        var expired: [(place: SyncToken.Place, reason: SyncReset.Reason)] = []
        var newlyExpired: [Leg] = []
        // Nearly all streams have sent nothing yet, and then nothing is looked for in what they have.
        let (hasDropped, hasSent) = (!sent.dropped.isEmpty, !sent.positions.isEmpty)
        for (table, type) in types {
            let name = type.description
            for scope in scopes where sharing.holds(table.name, inKind: scope.id.kind) {
                let place = SyncToken.Place(type, scope.id)
                let found = scope.checkpoints.first { $0.type == name }
                var checkpoint = found?.position == .start ? nil : found?.position
                if hasDropped, sent.dropped.contains(scope.id) { checkpoint = nil }
                if hasSent, let already = sent.positions[place] { checkpoint = max(checkpoint ?? already, already) }
                let known = max(checkpoint ?? .start, found?.begunAt ?? .start)
                let isExpired = found != nil && known < scope.prunedThrough
                if isExpired { checkpoint = nil }
                let reason = isExpired ? .retention : found?.resetReason
                if let reason, !sent.expired.contains(place) { expired.append((place, reason)) }
                // A scope in which nothing has happened yet is told once.
                guard checkpoint.map({ $0 < scope.head }) ?? (found == nil || scope.head > .start) else { continue }
                legs.append(
                    Leg(
                        table: table, place: place, checkpoint: checkpoint, end: scope.head,
                        begunAt: isExpired ? scope.head : found?.begunAt ?? scope.head, isFresh: found == nil,
                        deletionsAfter: isEmpty && found == nil ? scope.head : .start))
                if isExpired { newlyExpired.append(legs[legs.count - 1]) }
            }
        }
        (self.legs, self.lost, scopeCount) = (legs, lost, found.count)
        (self.expired, self.newlyExpired) = (expired, newlyExpired)
    }

    /// The scopes that there may be something to send of, and those that the device has to drop.
    ///
    /// - Parameter isWhole: whether all scopes are wanted that the account may read.
    /// - Returns: with the number of all that it may read.
    private static func scopes(
        of session: SyncSession, _ types: [(table: CheckedSchema.Table, type: SyncType)], _ sharing: CheckedSharing,
        isWhole: Bool, _ db: any SQLConnection
    ) throws -> (granted: [Scope], lost: [SyncScope], count: Int) {
        var granted: [Scope] = []
        var lost: [SyncScope] = []
        var count = 0
        let names = types.map { SQLValue.text($0.type.description) }
        let sql = statement(isWhole ? nil : types.map(\.table.name), sharing)
        try db.query(sql, [.text(session.id), .text(session.account)] + (isWhole ? [] : names)) { row in
            if let number = try row.integer(7) {
                count = Int(number)
                return true
            }
            if try !row.hasText(granted.last?.text, at: 0) {
                guard let text = try row.text(0), let id = SyncScope(text) else {
                    throw SQLFailure(.unusable, "A scope has an id that is none.")
                }
                guard let head = try row.position(1), let pruned = try row.position(2) else {
                    lost.append(id)
                    return true
                }
                granted.append(Scope(id: id, text: text, head: head, prunedThrough: pruned))
            }
            if let type = try row.text(3), let position = try row.position(4), let begunAt = try row.position(5) {
                granted[granted.count - 1].checkpoints.append(
                    Checkpoint(
                        type: type, position: position, begunAt: begunAt,
                        resetReason: try row.text(6).map(SyncReset.Reason.init)))
            }
            return true
        }
        return (granted, lost, count)
    }

    /// One row for each scope and type that the session has begun, and one with the number of scopes. Scopes of which
    /// the session has all that there is are left out, since nearly all are such nearly always, and an account may have
    /// a thousand.
    ///
    /// - Parameter tables: of the types that the device takes, which follow as the arguments 3, 4, …; nil for all
    ///   scopes.
    private static func statement(_ tables: [String]?, _ sharing: CheckedSharing) -> String {
        var unsettled = ""
        if let tables, !tables.isEmpty {
            let settled = """
                SELECT count(*) FROM sync_checkpoint d WHERE d.sessionID = ?1 AND d.scopeID = g.scopeID
                    AND d.typeName IN (\(tables.indices.map { "?\($0 + 3)" }.joined(separator: ", ")))
                    AND d.position >= s.head AND d.position >= s.prunedThrough AND d.resetReason IS NULL
                """
            let inContainer = sharing.containers.map { container in
                let prefix = SyncScope(kind: container.table, id: "").description
                let held = tables.filter { sharing.holds($0, inKind: container.table) }.count
                return "WHEN substr(g.scopeID, 1, \(prefix.utf8.count)) = '\(prefix)' THEN \(held) "
            }
            let wanted =
                inContainer.isEmpty ? "\(tables.count)" : "CASE \(inContainer.joined())ELSE \(tables.count) END"
            unsettled = "AND (\(settled)) < \(wanted)"
        }
        return """
            SELECT '', NULL, NULL, NULL, NULL, NULL, NULL, count(*) FROM sync_grant WHERE accountID = ?2
            UNION ALL
            SELECT g.scopeID, s.head, s.prunedThrough, c.typeName, c.position, c.begunAt, c.resetReason, NULL
            FROM sync_grant g JOIN sync_scope s ON s.id = g.scopeID
            LEFT JOIN sync_checkpoint c ON c.sessionID = ?1 AND c.scopeID = g.scopeID
            WHERE g.accountID = ?2 \(unsettled)
            UNION ALL
            SELECT c.scopeID, NULL, NULL, NULL, NULL, NULL, NULL, NULL
            FROM (SELECT DISTINCT scopeID FROM sync_checkpoint WHERE sessionID = ?1) c
            WHERE NOT EXISTS (SELECT 1 FROM sync_grant g WHERE g.accountID = ?2 AND g.scopeID = c.scopeID)
            ORDER BY 1
            """
    }
}

extension SQLRow {
    /// Read where it lies. nil for NULL, and for what is none.
    fileprivate func position(_ column: Int) throws -> SyncPosition? {
        try withBytes(column) { SyncPosition($0) } ?? nil
    }

    /// Whether a column has a text, and not NULL.
    fileprivate func hasText(_ text: String?, at column: Int) throws -> Bool {
        guard let text else { return false }
        return try withBytes(column) { $0.elementsEqual(text.utf8) } == true
    }
}
