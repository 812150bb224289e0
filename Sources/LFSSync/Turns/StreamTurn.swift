import LFSDatabase
import LFSWire

/// Takes one stream after the other, until all there is has come.
struct StreamTurn: Sendable {
    let runner: BackgroundRunner
    let server: SyncServer
    let tables: [SyncedTable]

    /// - Parameter resets: whether everything has to come anew.
    /// - Returns: how many rows have changed something here.
    /// - Throws: ``SyncError``; what has come before stays.
    func run(resets: Bool = false) async throws -> Int {
        var (received, resets) = (0, resets)
        // A reset, and one more that comes meanwhile; a server that goes on with them will not end.
        for _ in 0..<4 {
            let outcome = try await stream(try await request(resets: resets))
            received += outcome.changed
            try await acknowledge()
            if outcome.isComplete {
                try await sweep()
                return received
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
        _ = try await stream(try await request(isLive: true)) { outcome in
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
    func acknowledge() async throws {
        while let batch = try await runner.write({ try SyncCheckpoints.batch($0) }) {
            try await server.acknowledge(batch)
            try await runner.write { try SyncCheckpoints.acknowledged(batch, $0) }
        }
    }

    private func request(resets: Bool = false, isLive: Bool = false) async throws -> SyncStreamRequest {
        let (last, own) = try await runner.read { db in
            (try SyncCheckpoints.last(db), try SyncCheckpoints.ownScope(db))
        }
        var request = SyncStreamRequest(types: tables.map { [$0.type] }, acks: last, resets: resets, isLive: isLive)
        request.account = own
        return request
    }

    private func stream(
        _ request: SyncStreamRequest, _ onBatch: (BatchApply.Outcome) async throws -> Void = { _ in }
    ) async throws -> BatchApply.Outcome {
        let feed = LineFeed(own: request.account)
        return try await withTaskCancellationHandler {
            try await stream(request, through: feed, onBatch)
        } onCancel: {
            // Whoever brings bytes may be waiting for room.
            feed.end()
        }
    }

    private func stream(
        _ request: SyncStreamRequest, through feed: LineFeed,
        _ onBatch: (BatchApply.Outcome) async throws -> Void
    ) async throws -> BatchApply.Outcome {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [server] in
                defer { feed.end() }
                try await server.stream(request, into: feed)
            }
            defer { feed.end() }
            var total = BatchApply.Outcome()
            for await batch in feed.batches {
                let outcome = try await apply(batch, of: feed.own)
                feed.taken()
                total.changed += outcome.changed
                total.isComplete = total.isComplete || outcome.isComplete
                total.hasReset = total.hasReset || outcome.hasReset
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

    /// - Parameter own: the scope of the account's own rows; nil before a line has told it.
    private func apply(_ batch: [SyncLine], of own: SyncScope?) async throws -> BatchApply.Outcome {
        let apply = BatchApply(tables)
        do {
            return try await runner.writeAlone { db in
                try SyncCheckpoints.note(own, db)
                return try apply.together(batch, db)
            }
        } catch let error where error.isOfRow {
            return try await runner.writeAlone { db in
                try SyncCheckpoints.note(own, db)
                return try apply.oneByOne(batch, db)
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
    fileprivate var failure: SyncStreamFailure? {
        if case .failure(let failure) = self { return failure }
        return nil
    }
}
