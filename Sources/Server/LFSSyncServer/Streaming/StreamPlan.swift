import LFSWire

/// The content of a stream, determined with one statement before its first line.
struct StreamPlan: Sendable {
    /// A segment of a stream: one type in one scope.
    struct Segment: Sendable {
        let table: CheckedSchema.Table
        let place: SyncToken.Place
        /// The checkpoint, or nil if all rows must be sent.
        let checkpoint: SyncPosition?
        /// The scope's head when the stream started. Later commits belong to the next stream.
        let end: SyncPosition
        /// The position up to which deletions do not concern the device.
        let begunAt: SyncPosition
        /// True if the session has never started the segment.
        var isFresh = false
        /// The position up to which deletions are not sent, because the device has reported that it has no rows.
        var deletionsAfter = SyncPosition.start

        var start: SyncPosition { checkpoint ?? .start }
    }

    /// The segments, ordered by type with parents first, and then by scope.
    let legs: [Segment]
    /// The scopes that the device has and may no longer read.
    let lost: [SyncScope]
    /// The segments that the device must start over, because deletions that it lacks were pruned. They are sent until
    /// the device has acknowledged a part of them.
    let expired: [(place: SyncToken.Place, reason: SyncReset.Reason)]
    /// The expired segments that were not known before.
    let newlyExpired: [Segment]
    let scopeCount: Int

    private struct Scope {
        let id: SyncScope
        let text: String
        let head: SyncPosition
        let prunedThrough: SyncPosition
        /// The checkpoints of some types. A list is faster than a dictionary, and an account may have a thousand
        /// scopes.
        var checkpoints: [Checkpoint] = []
    }

    private struct Checkpoint {
        let type: String
        let position: SyncPosition
        let begunAt: SyncPosition
        let resetReason: SyncReset.Reason?
    }

    /// The content that a stream has already sent. The device may not have acknowledged it yet.
    struct Sent: Sendable {
        var positions: [SyncToken.Place: SyncPosition] = [:]
        /// The scopes that the device had to drop and has not received again.
        var lost: Set<SyncScope> = []
        /// All scopes that the device ever had to drop. Its earlier acknowledgments of them no longer count.
        var dropped: Set<SyncScope> = []
        /// The segments that the device had to start over.
        var expired: Set<SyncToken.Place> = []

        mutating func drop(_ scope: SyncScope) {
            lost.insert(scope)
            dropped.insert(scope)
            positions = positions.filter { $0.key.scope != scope }
        }
    }

    /// True if the stream has nothing to send.
    var isEmpty: Bool { legs.isEmpty && lost.isEmpty && expired.isEmpty }

    /// The segments without a checkpoint. They need one, so that the device is informed of the end of their scope.
    var fresh: [Segment] { legs.filter(\.isFresh) }

    /// - Parameters:
    ///   - types: the types that the device accepts, parents first.
    ///   - sharing: the sharing rules, which define the tables in shared scopes.
    ///   - isEmpty: true if the device has reported that it has no rows.
    ///   - sent: the content that this stream has already sent.
    init(
        _ types: [(table: CheckedSchema.Table, type: SyncType)], sharing: CheckedSharing, of session: SyncSession,
        isEmpty: Bool = false, sent: Sent = Sent(),
        _ db: any SQLConnection
    ) throws {
        let found = try Self.scopes(of: session, types, sharing: sharing, isWhole: !sent.dropped.isEmpty, db)
        let scopes = found.granted
        let lost = found.lost.filter { !sent.lost.contains($0) }
        var legs: [Segment] = []
        var expired: [(place: SyncToken.Place, reason: SyncReset.Reason)] = []
        var newlyExpired: [Segment] = []
        // Nearly all streams have not sent anything yet, and need no lookups in these collections.
        let (hasDropped, hasSent) = (!sent.dropped.isEmpty, !sent.positions.isEmpty)
        for (table, type) in types {
            let name = type.description
            for scope in scopes where sharing.holds(table.name, inKind: scope.id.kind) {
                let place = SyncToken.Place(type, scope: scope.id)
                let found = scope.checkpoints.first { $0.type == name }
                var checkpoint = found?.position == .start ? nil : found?.position
                if hasDropped, sent.dropped.contains(scope.id) { checkpoint = nil }
                if hasSent, let already = sent.positions[place] { checkpoint = max(checkpoint ?? already, already) }
                let known = max(checkpoint ?? .start, found?.begunAt ?? .start)
                let isExpired = found != nil && known < scope.prunedThrough
                if isExpired { checkpoint = nil }
                let reason = isExpired ? .retention : found?.resetReason
                if let reason, !sent.expired.contains(place) { expired.append((place, reason)) }
                // A scope without any change is sent once.
                guard checkpoint.map({ $0 < scope.head }) ?? (found == nil || scope.head > .start) else { continue }
                legs.append(
                    Segment(
                        table: table, place: place, checkpoint: checkpoint, end: scope.head,
                        begunAt: isExpired ? scope.head : found?.begunAt ?? scope.head, isFresh: found == nil,
                        deletionsAfter: isEmpty && found == nil ? scope.head : .start))
                if isExpired { newlyExpired.append(legs[legs.count - 1]) }
            }
        }
        self.legs = legs
        self.lost = lost
        scopeCount = found.count
        self.expired = expired
        self.newlyExpired = newlyExpired
    }

    /// Returns the scopes that may have something to send, and those that the device has to drop.
    ///
    /// - Parameter isWhole: true for all scopes that the account may read.
    /// - Returns: the scopes, and the number of all scopes that the account may read.
    private static func scopes(
        of session: SyncSession, _ types: [(table: CheckedSchema.Table, type: SyncType)], sharing: CheckedSharing,
        isWhole: Bool, _ db: any SQLConnection
    ) throws -> (granted: [Scope], lost: [SyncScope], count: Int) {
        var granted: [Scope] = []
        var lost: [SyncScope] = []
        var count = 0
        let names = types.map { SQLValue.text($0.type.description) }
        let sql = statement(isWhole ? nil : types.map(\.table.name), sharing: sharing)
        try db.query(sql, arguments: [.text(session.id), .text(session.account)] + (isWhole ? [] : names)) { row in
            if let number = try row.integer(7) {
                count = Int(number)
                return true
            }
            if try !row.hasText(granted.last?.text, at: 0) {
                guard let text = try row.text(0), let id = SyncScope(text) else {
                    throw SQLFailure(.unusable, message: "A scope has an invalid id.")
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

    /// Returns a query with a row for each scope and type that the session has started, and a row with the number of
    /// scopes. It leaves out scopes of which the session has received everything. Nearly all scopes are of this kind,
    /// and an account may have a thousand.
    ///
    /// - Parameter tables: the tables of the types that the device accepts. The types are the arguments 3, 4, and so
    ///   on. Nil for all scopes.
    private static func statement(_ tables: [String]?, sharing: CheckedSharing) -> String {
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
    /// Reads a position in place. Returns nil for NULL, and for an invalid position.
    fileprivate func position(_ column: Int) throws -> SyncPosition? {
        try withBytes(column) { SyncPosition($0) } ?? nil
    }

    /// Returns true if a column has the text, and not NULL.
    fileprivate func hasText(_ text: String?, at column: Int) throws -> Bool {
        guard let text else { return false }
        return try withBytes(column) { $0.elementsEqual(text.utf8) } == true
    }
}
