import LFSWire

/// A reader of the pages of a segment. Each page is one statement over an index, read row by row. The connection is
/// released at the end of the page.
struct PageReader: Sendable {
    static let rowLimit = 1_000
    static let byteLimit = 64 << 10
    /// The row limit of the first page, before the size of a segment's rows is known.
    static let firstRowLimit = 256

    struct Page: Sendable {
        var lines: [UInt8] = []
        var rowCount = 0
        /// The position of the last row.
        var position: SyncPosition
        /// True if the segment may have more rows.
        var mayHaveMore = true
        /// True if the account may still read the scope.
        var isGranted = true
        /// The reason why the whole stream ends here, or nil.
        var failure: SyncStreamFailure?

        /// The estimated number of rows that fill the next page, if its rows are like those of this page. A database
        /// that works ahead of its reader would otherwise produce rows in vain, and would have to be stopped.
        /// PostgreSQL is such a database.
        var nextRowLimit: Int {
            guard rowCount > 0 else { return PageReader.firstRowLimit }
            return min(max(PageReader.byteLimit * rowCount / lines.count + 8, 16), PageReader.rowLimit)
        }
    }

    let dialect: SQLDialect
    let session: SyncSession

    /// Reads a page.
    ///
    /// - Parameter rowLimit: the maximum number of rows, at most ``rowLimit``.
    func page(
        of leg: StreamPlan.Segment, after position: SyncPosition, rowLimit: Int, _ db: any SQLConnection
    ) throws -> Page {
        var page = Page(position: position)
        // Reserves memory once instead of growing it repeatedly.
        page.lines.reserveCapacity(Self.byteLimit + 4_096)
        let state = try state(of: leg.place.scope, db)
        page.failure = failure(at: state.epoch)
        if page.failure != nil { return page }
        guard let (prunedThrough, head) = state.bounds else {
            page.isGranted = false
            page.mayHaveMore = false
            return page
        }
        guard head >= leg.end else {
            page.failure = SyncStreamFailure(
                "unavailable",
                message: "The database lacks changes that another copy of it has announced. Request the stream again.",
                isRetryable: true, retryAfter: 5)
            return page
        }
        guard max(position, leg.begunAt) >= prunedThrough else {
            page.failure = SyncStreamFailure(
                "out_of_step",
                message: "Deletions that this device lacks are no longer recorded. Request the stream again.",
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
        try db.query(isShared ? sql.sharedPage(version: version) : sql.ownPage(version: version), arguments: arguments)
        { line in
            guard let isGone = try line.integer(1) else {
                throw SQLFailure(
                    .unusable,
                    message: "A row of '\(leg.table.name)' does not state whether it is deleted.")
            }
            page.lines += isGone == 0 ? row.bytes : gone.bytes
            let at = try line.withBytes(0) { text in
                page.lines += text
                return SyncPosition(text)
            }
            guard let at = at ?? nil, at != .start else {
                throw SQLFailure(.unusable, message: "A row of '\(leg.table.name)' has no position.")
            }
            page.lines += end
            let isThere: Void? = try line.withBytes(2) { page.lines += $0 }
            guard isThere != nil else {
                throw SQLFailure(.unusable, message: "A row of '\(leg.table.name)' has no content.")
            }
            page.lines += "}\n".utf8
            page.position = at
            page.rowCount = page.rowCount + 1
            return page.lines.count < Self.byteLimit
        }
        page.mayHaveMore = page.rowCount == rowLimit || page.lines.count >= Self.byteLimit
        return page
    }

    private func failure(at epoch: Int64?) -> SyncStreamFailure? {
        switch epoch {
        case nil:
            return SyncStreamFailure(
                "unauthorized", message: "The session has ended.", isRetryable: false, retryAfter: nil)
        case session.epoch: return nil
        default:
            return SyncStreamFailure(
                "out_of_step", message: "The device has started a full resync.", isRetryable: true, retryAfter: nil)
        }
    }

    /// Returns the session's epoch, or nil if the session has ended. Also returns how far a scope was pruned and the
    /// scope's head, or nil if the account may no longer read the scope. Both are read for each page, so that a revoked
    /// session ends in the middle of a stream.
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
        try db.query(sql, arguments: [.text(session.id), .text(scope.description), .text(session.account)]) { row in
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

/// The common start of a segment's lines, up to the position in their token.
private struct LineStart {
    let bytes: [UInt8]

    init(of place: SyncToken.Place, type: String, own: SyncScope) {
        let scope = place.scope == own ? "" : "\"scope\":\"\(place.scope)\","
        bytes = Array("{\"type\":\"\(type)\",\(scope)\"ack\":\"\(place.type)|\(place.scope)|".utf8)
    }
}
