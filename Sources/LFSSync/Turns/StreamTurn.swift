import GRDB
import LFSDatabase
import LFSWire

/// Takes one stream after the other, until all there is has come.
struct StreamTurn: Sendable {
    let runner: BackgroundRunner
    let server: SyncServer
    let tables: [SyncedTable]
    /// For lines that come slowly.
    let clock: any Clock<Duration>

    /// - Parameters:
    ///   - resets: whether everything has to come anew.
    ///   - onReceived: runs after each batch, with how many of its rows have changed something here.
    /// - Throws: ``SyncError``; what has come before stays.
    func run(resets: Bool, _ onReceived: (Int) -> Void) async throws {
        var resets = resets
        // A reset, and one more that comes meanwhile; a server that goes on with them will not end.
        for _ in 0..<4 {
            let outcome = try await stream(try await question(resets: resets)) { onReceived($0.changed) }
            try await acknowledge()
            if outcome.isComplete {
                return try await sweep()
            }
            guard outcome.hasReset else {
                throw SyncError(.cut, "The stream ended in its middle. What had come is kept; try again.")
            }
            resets = false
        }
        throw SyncError(.unexpectedReply, "The server makes this device begin anew again and again: its log says why.")
    }

    /// Takes a stream that stays open until the server ends it.
    ///
    /// - Parameter onComplete: runs whenever all there is has come, with how many rows have changed something since.
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

    /// Says how far this device is.
    ///
    /// - Returns: the scope of the account's own rows; nil before a first stream has named it.
    @discardableResult func acknowledge() async throws -> SyncScope? {
        var (next, own) = try await runner.write { (try SyncCheckpoints.batch($0), try SyncCheckpoints.ownScope($0)) }
        while let batch = next {
            // What the server is told is here stays here when the power goes: else it would all have to come anew.
            try await runner.writeDurably { _ in }
            try await server.acknowledge(batch)
            (next, own) = try await runner.write { db in
                try SyncCheckpoints.acknowledged(batch, db)
                return (try SyncCheckpoints.batch(db), try SyncCheckpoints.ownScope(db))
            }
        }
        return own
    }

    /// What to ask for.
    private struct Question {
        var request: SyncStreamRequest
        var turn: SyncCheckpoints.Turn
    }

    private func question(resets: Bool = false, isLive: Bool = false) async throws -> Question {
        let (last, own, turn, isEmpty) = try await runner.read { [tables] db in
            let own = try SyncCheckpoints.ownScope(db)
            return (
                try SyncCheckpoints.last(db), own, try SyncCheckpoints.turn(db),
                // Before its first line a device may have rows of its own, and those of a session before.
                try own == nil && Self.isEmpty(tables, db)
            )
        }
        var request = SyncStreamRequest(types: tables.map { [$0.type] }, acks: last, resets: resets, isLive: isLive)
        request.account = own
        request.isEmpty = isEmpty
        return Question(request: request, turn: turn)
    }

    /// Whether there is nothing that a deletion could be about.
    private static func isEmpty(_ tables: [SyncedTable], _ db: Database) throws -> Bool {
        for name in tables.map(\.name) + ["lfs_sync_outbox", "lfs_sync_parked"] {
            let sql = "SELECT EXISTS (SELECT 1 FROM \(name.quotedDatabaseIdentifier))"
            if try Bool.fetchOne(db, sql: sql) == true { return false }
        }
        return true
    }

    private func stream(
        _ question: Question, _ onBatch: (BatchApply.Outcome) async throws -> Void = { _ in }
    ) async throws -> BatchApply.Outcome {
        let feed = LineFeed(own: question.request.account)
        return try await withTaskCancellationHandler {
            try await stream(question, through: feed, onBatch)
        } onCancel: {
            // Whoever brings bytes may be waiting for room.
            feed.end()
        }
    }

    private func stream(
        _ question: Question, through feed: LineFeed, _ onBatch: (BatchApply.Outcome) async throws -> Void
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
                let outcome = try await apply(batch, of: feed.own, &batches)
                feed.taken()
                total.add(outcome)
                if let failure = batch.lazy.compactMap(\.failure).last {
                    throw SyncError(
                        failure.isRetryable ? .unavailable : .unexpectedReply, failure.message,
                        retryAfter: failure.retryAfter)
                }
                try await onBatch(outcome)
            }
            // A stream of batches ends with its task, whatever is still to come.
            try Task.checkCancellation()
            try await group.waitForAll()
            return total
        }
    }

    /// What batches of one stream have in common.
    private struct Batches {
        var turn: SyncCheckpoints.Turn
        /// What most likely is the way of the next batch, since it was that of one before.
        var way = BatchApply.Way.inOrder
        var pace = WriterPace()
    }

    /// - Parameter own: the scope of the account's own rows; nil before a line has told it.
    private func apply(
        _ batch: [SyncLine], of own: SyncScope?, _ batches: inout Batches
    ) async throws -> BatchApply.Outcome {
        var total = BatchApply.Outcome()
        var rest = batch[...]
        while !rest.isEmpty {
            let (outcome, count) = try await transact(rest, of: own, &batches)
            rest = rest.dropFirst(count)
            total.add(outcome)
        }
        return total
    }

    /// - Returns: what has come of the first lines, and how many these are.
    private func transact(
        _ lines: ArraySlice<SyncLine>, of own: SyncScope?, _ batches: inout Batches
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
                    // The end of a stream ends the passes of this one and of those before it, not of a later one.
                    if try brings || (isEnd && PassTable.isAnyUnderWay(db)) {
                        try SyncCheckpoints.take(&after.turn, db)
                    }
                    try SyncCheckpoints.note(own, db)
                    let outcome = try apply.run(piece, way, db)
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
        let sweep = Sweep(tables: tables)
        var cursor: Sweep.Cursor?
        repeat {
            cursor = try await runner.write { [cursor] in try sweep.step(cursor, $0) }
        } while cursor != nil
    }
}

extension SyncLine {
    /// Whether something here changes with it.
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
