import GRDB
import LFSDatabase
import LFSWire

/// A round that receives streams until all available changes have arrived.
struct PullRound: Sendable {
    let runner: BackgroundRunner
    let server: SyncHTTPClient
    let tables: [SyncedTable]
    /// The clock for lines that arrive slowly.
    let clock: any Clock<Duration>

    /// Receives all available changes.
    ///
    /// - Parameters:
    ///   - resets: true to receive everything again.
    ///   - onReceived: called after each batch with the number of its rows that changed something on this device.
    /// - Throws: ``SyncError``. Batches that arrived before the error stay applied.
    func run(resets: Bool, _ onReceived: (Int) -> Void) async throws {
        var resets = resets
        // One reset is normal, and another may follow in the meantime. A server that resets more often would never
        // stop.
        for _ in 0..<4 {
            let outcome = try await stream(try await question(resets: resets)) { onReceived($0.changed) }
            try await acknowledge()
            if outcome.isComplete {
                return try await sweep()
            }
            guard outcome.hasReset else {
                throw SyncError(
                    .cut,
                    message: "The stream ended before it was complete. The received rows are kept. Try again.")
            }
            resets = false
        }
        throw SyncError(
            .unexpectedReply,
            message: "The server requests a full resync again and again. See the server's log for the reason.")
    }

    /// Receives a stream that stays open until the server ends it.
    ///
    /// - Parameter onComplete: called whenever all available changes have arrived, with the number of rows that have
    ///   changed since the last call.
    func follow(_ onComplete: @escaping @Sendable (Int) async throws -> Void) async throws {
        var changed = 0
        _ = try await stream(try await question(isLive: true)) { outcome in
            changed += outcome.changed
            guard outcome.isComplete || outcome.hasReset else { return }
            try await acknowledge()
            guard outcome.isComplete else { return }
            try await sweep()
            try await onComplete(changed)
            changed = 0
        }
    }

    /// Reports the reached checkpoints to the server.
    ///
    /// - Returns: the scope of the account's own rows, or nil before a first stream has named it.
    @discardableResult func acknowledge() async throws -> SyncScope? {
        var (next, own) = try await runner.write { (try SyncCheckpoints.batch($0), try SyncCheckpoints.ownScope($0)) }
        while let batch = next {
            // Rows reported to the server must survive a power failure. Otherwise everything would have to be sent
            // again.
            try await runner.writeDurably { _ in }
            try await server.acknowledge(batch)
            (next, own) = try await runner.write { db in
                try SyncCheckpoints.acknowledged(batch, db)
                return (try SyncCheckpoints.batch(db), try SyncCheckpoints.ownScope(db))
            }
        }
        return own
    }

    /// A stream request and the state that detects other streams.
    private struct Request {
        var request: SyncStreamRequest
        var turn: SyncCheckpoints.Turn
    }

    private func question(resets: Bool = false, isLive: Bool = false) async throws -> Request {
        let (last, own, turn, isEmpty) = try await runner.read { [tables] db in
            let own = try SyncCheckpoints.ownScope(db)
            return (
                try SyncCheckpoints.last(db), own, try SyncCheckpoints.turn(db),
                // Before its first line, a device may have rows of its own and rows of an earlier session.
                try own == nil && Self.isEmpty(tables, db)
            )
        }
        var request = SyncStreamRequest(types: tables.map(\.types), acks: last, resets: resets, isLive: isLive)
        request.account = own
        request.isEmpty = isEmpty
        return Request(request: request, turn: turn)
    }

    /// Returns true if the database contains nothing that a deletion could apply to.
    private static func isEmpty(_ tables: [SyncedTable], _ db: Database) throws -> Bool {
        for name in tables.map(\.name) + ["lfs_sync_outbox", "lfs_sync_parked"] {
            let sql = "SELECT EXISTS (SELECT 1 FROM \(name.quotedDatabaseIdentifier))"
            if try Bool.fetchOne(db, sql: sql) == true { return false }
        }
        return true
    }

    private func stream(
        _ question: Request, _ onBatch: (BatchApply.Outcome) async throws -> Void = { _ in }
    ) async throws -> BatchApply.Outcome {
        let feed = LineBatcher(own: question.request.account)
        return try await withTaskCancellationHandler {
            try await stream(question, through: feed, onBatch)
        } onCancel: {
            // The thread that delivers bytes may be blocked.
            feed.end()
        }
    }

    private func stream(
        _ question: Request, through feed: LineBatcher, _ onBatch: (BatchApply.Outcome) async throws -> Void
    ) async throws -> BatchApply.Outcome {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [server] in
                defer { feed.end() }
                try await server.stream(question.request, into: feed)
            }
            defer { feed.end() }
            async let _ = feed.endSlowBatches(clock)
            var total = BatchApply.Outcome()
            var batches = Batches(turn: question.turn)
            for await batch in feed.batches {
                let outcome = try await apply(batch, of: feed.own, batches: &batches)
                feed.taken()
                total.add(outcome)
                if let failure = batch.lazy.compactMap(\.failure).last { throw SyncError(endOfStream: failure) }
                try await onBatch(outcome)
            }
            // Cancellation ends the stream of batches, even if more would follow.
            try Task.checkCancellation()
            try await group.waitForAll()
            return total
        }
    }

    /// The state that the batches of one stream share.
    private struct Batches {
        var turn: SyncCheckpoints.Turn
        /// The strategy of an earlier batch, which the next batch probably needs as well.
        var way = BatchApply.Strategy.inOrder
        var pace = WriteThrottle()
    }

    /// Applies a batch in one or more transactions.
    ///
    /// - Parameter own: the scope of the account's own rows, or nil before a line has named it.
    private func apply(
        _ batch: [SyncLine], of own: SyncScope?, batches: inout Batches
    ) async throws -> BatchApply.Outcome {
        var total = BatchApply.Outcome()
        var rest = batch[...]
        while !rest.isEmpty {
            let (outcome, count) = try await transact(rest, of: own, batches: &batches)
            rest = rest.dropFirst(count)
            total.add(outcome)
        }
        return total
    }

    /// Applies the first lines in one transaction.
    ///
    /// - Returns: the result of these lines, and their number.
    private func transact(
        _ lines: ArraySlice<SyncLine>, of own: SyncScope?, batches: inout Batches
    ) async throws -> (BatchApply.Outcome, Int) {
        let apply = BatchApply(tables)
        var way = batches.way
        while true {
            do {
                let (outcome, count, after) = try await runner.writeAlone { [way, batches] db in
                    var after = batches
                    after.pace.begin(db.totalChangesCount)
                    let piece = Array(lines.prefix(after.pace.lineLimit))
                    let brings = piece.contains(where: \.bringsSomething)
                    let isEnd = piece.contains(where: \.isComplete)
                    // The end of a stream ends the full resyncs of this stream and of earlier ones, but not those of a
                    // later one.
                    if try brings || (isEnd && FullResyncTable.isAnyUnderWay(db)) {
                        try SyncCheckpoints.take(&after.turn, db)
                    }
                    try SyncCheckpoints.note(own, db)
                    let outcome = try apply.run(piece, way: way, db)
                    after.pace.end(db.totalChangesCount)
                    return (outcome, piece.count, after)
                }
                batches = after
                if way == .together { batches.way = way }
                return (outcome, count)
            } catch let error where error.isOfRow {
                guard let next = way.next(after: error) else { throw error }
                way = next
            }
        }
    }

    private func sweep() async throws {
        let sweep = StaleRowRemoval(tables: tables)
        var cursor: StaleRowRemoval.Cursor?
        repeat {
            cursor = try await runner.write { [cursor] in try sweep.step(cursor, $0) }
        } while cursor != nil
    }
}

extension SyncError {
    /// Creates the error for a stream that the server has ended early.
    fileprivate init(endOfStream failure: SyncStreamFailure) {
        switch failure.code {
        case "unauthorized" where !failure.isRetryable:
            self.init(.unauthorized, message: "The session has ended. Sign in again.")
        case "replaced":
            // Older servers report this failure as final.
            self.init(
                .cut,
                message: "Another sync with this session has started since. The received rows are kept. Try again.",
                retryAfter: failure.retryAfter ?? 10)
        default:
            self.init(
                failure.isRetryable ? .unavailable : .unexpectedReply, message: failure.message,
                retryAfter: failure.retryAfter)
        }
    }
}

extension SyncLine {
    /// True if the line may change something on this device.
    fileprivate var bringsSomething: Bool {
        switch self {
        case .row, .deletion, .reached, .scopeDeleted, .reset: true
        case .complete, .failure, .heartbeat, .unknown: false
        }
    }

    fileprivate var isComplete: Bool {
        if case .complete = self { return true }
        return false
    }

    fileprivate var failure: SyncStreamFailure? {
        if case .failure(let failure) = self { return failure }
        return nil
    }
}
