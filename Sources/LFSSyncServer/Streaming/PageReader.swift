import LFSWire

/// Reads pages of one leg: each is one statement over an index, read row by row, and the connection goes back at its
/// end.
struct PageReader: Sendable {
    static let rowLimit = 1_000
    static let byteLimit = 64 << 10
    /// Before anything is known of a leg's rows.
    static let firstRowLimit = 256

    struct Page: Sendable {
        var lines: [UInt8] = []
        var rowCount = 0
        /// Of the last row.
        var position: SyncPosition
        /// Whether the leg may have more.
        var mayHaveMore = true
        /// Whether the account still may read the scope.
        var isGranted = true
        /// Why the whole stream ends here; nil when it does not.
        var failure: SyncStreamFailure?

        /// About as many rows as fill the next page, if they are like these. A database that works ahead of who reads
        /// makes rows for nothing otherwise, and has to be stopped: PostgreSQL does.
        var nextRowLimit: Int {
            guard rowCount > 0 else { return PageReader.firstRowLimit }
            return min(max(PageReader.byteLimit * rowCount / lines.count + 8, 16), PageReader.rowLimit)
        }
    }

    let dialect: SQLDialect
    let session: SyncSession

    /// - Parameter rowLimit: at most ``rowLimit``.
    func page(
        of leg: StreamPlan.Leg, after position: SyncPosition, rowLimit: Int, _ db: any SQLConnection
    ) throws -> Page {
        var page = Page(position: position)
        // One piece of memory, instead of ever larger ones.
        page.lines.reserveCapacity(Self.byteLimit + 4_096)
        let state = try state(of: leg.place.scope, db)
        page.failure = failure(at: state.epoch)
        if page.failure != nil { return page }
        guard let (prunedThrough, head) = state.bounds else {
            (page.isGranted, page.mayHaveMore) = (false, false)
            return page
        }
        guard head >= leg.end else {
            page.failure = SyncStreamFailure(
                "unavailable", "The database that answers now lacks what another one has promised: stream again.",
                isRetryable: true, retryAfter: 5)
            return page
        }
        guard max(position, leg.begunAt) >= prunedThrough else {
            page.failure = SyncStreamFailure(
                "out_of_step", "Deletions that this device lacks were forgotten meanwhile: stream again.",
                isRetryable: true, retryAfter: nil)
            return page
        }
        let sql = TableSQL(table: leg.table, dialect: dialect)
        let version = leg.place.type.version
        let scope = leg.place.scope.description
        var arguments: [SQLValue] = [
            .text(scope), .text(position.text), .text(leg.end.text), .integer(Int64(rowLimit)),
            .text(max(position, leg.deletionsAfter).text),
        ]
        let isShared = leg.place.scope.kind != SyncScope.accountKind
        if isShared { arguments.append(.text(session.own.description)) }
        let row = LineStart(of: leg.place, type: leg.place.type.description, own: session.own)
        let gone = LineStart(of: leg.place, type: leg.place.type.deletion, own: session.own)
        let end = Array("|\(session.epoch)\",\"data\":".utf8)
        try db.query(isShared ? sql.sharedPage(version: version) : sql.ownPage(version: version), arguments) { line in
            guard let isGone = try line.integer(1) else {
                throw SQLFailure(.unusable, "A row of '\(leg.table.name)' does not say whether it is there.")
            }
            page.lines += isGone == 0 ? row.bytes : gone.bytes
            let at = try line.withBytes(0) { text in
                page.lines += text
                return SyncPosition(text)
            }
            guard let at = at ?? nil, at != .start else {
                throw SQLFailure(.unusable, "A row of '\(leg.table.name)' has no position.")
            }
            page.lines += end
            let isThere: Void? = try line.withBytes(2) { page.lines += $0 }
            guard isThere != nil else { throw SQLFailure(.unusable, "A row of '\(leg.table.name)' cannot be told.") }
            page.lines += "}\n".utf8
            (page.position, page.rowCount) = (at, page.rowCount + 1)
            return page.lines.count < Self.byteLimit
        }
        page.mayHaveMore = page.rowCount == rowLimit || page.lines.count >= Self.byteLimit
        return page
    }

    private func failure(at epoch: Int64?) -> SyncStreamFailure? {
        switch epoch {
        case nil:
            return SyncStreamFailure("unauthorized", "The session has ended.", isRetryable: false, retryAfter: nil)
        case session.epoch: return nil
        default:
            return SyncStreamFailure(
                "out_of_step", "The device has begun anew meanwhile.", isRetryable: true, retryAfter: nil)
        }
    }

    /// The session's epoch, nil when it has ended; up to where a scope's deletions are forgotten, and where its last
    /// row is, nil for one that the account may not read any more. They are asked for at each page, so that a session
    /// that is revoked ends in the middle of a stream.
    private func state(
        of scope: SyncScope, _ db: any SQLConnection
    ) throws -> (epoch: Int64?, bounds: (prunedThrough: SyncPosition, head: SyncPosition)?) {
        let sql = """
            SELECT n.epoch, s.prunedThrough, s.head FROM sync_session n
            LEFT JOIN sync_grant g ON g.accountID = ?3 AND g.scopeID = ?2 LEFT JOIN sync_scope s ON s.id = g.scopeID
            WHERE n.id = ?1
            """
        var epoch: Int64?
        var bounds: (SyncPosition, SyncPosition)?
        try db.query(sql, [.text(session.id), .text(scope.description), .text(session.account)]) { row in
            epoch = try row.integer(0)
            if let pruned = try row.text(1).flatMap({ SyncPosition($0) }),
                let head = try row.text(2).flatMap({ SyncPosition($0) })
            {
                bounds = (pruned, head)
            }
            return false
        }
        return (epoch, bounds)
    }
}

/// What the lines of a leg have in common, up to the position in their token.
private struct LineStart {
    let bytes: [UInt8]

    init(of place: SyncToken.Place, type: String, own: SyncScope) {
        let scope = place.scope == own ? "" : "\"scope\":\"\(place.scope)\","
        bytes = Array("{\"type\":\"\(type)\",\(scope)\"ack\":\"\(place.type)|\(place.scope)|".utf8)
    }
}
