import LFSDatabase
import LFSWire

/// A round that sends the local changes, request by request.
struct PushRound: Sendable {
    let runner: BackgroundRunner
    let server: SyncHTTPClient
    let tables: [SyncedTable]
    /// The clock for the delays that a server asks for.
    let clock: any Clock<Duration>

    /// The number of consecutive requests that the server may postpone before the push fails.
    private static let patience = 20

    /// Sends all changes that are due.
    ///
    /// - Parameter onSent: called after each request with the number of changes that were answered.
    /// - Throws: ``SyncError``. Answers that arrived before the error stay applied.
    func run(_ onSent: (Int) -> Void) async throws {
        let answers = AnswerApply(tables: tables)
        try await runner.write { try answers.acceptUnheard($0) }
        try await releaseWaiting()
        var delayCount = 0
        while true {
            try Task.checkCancellation()
            let (frozen, own) = try await runner.write { [tables] db in
                let own = try SyncCheckpoints.ownScope(db)
                let frozen = try Outbox.freeze(
                    limit: SyncMutation.limit, byteLimit: SyncMutation.byteLimit, tables, of: own, db)
                return (frozen, own)
            }
            guard !frozen.isEmpty else { return }
            // A number that the server has received must never belong to another change, even after a power failure.
            try await runner.writeDurably { _ in }
            let results: [SyncMutationResult]
            do {
                results = try await server.push(frozen.map(\.line), of: own)
                delayCount = 0
            } catch let error as SyncError where error.isThrottled && delayCount < Self.patience {
                // A large first push exceeds the rate that the server allows an account.
                delayCount += 1
                try await clock.sleep(for: .seconds(min(max(error.retryAfter ?? 1, 1), 60)))
                continue
            }
            // A server with long answers answers only the first changes.
            guard !results.isEmpty, results.count <= frozen.count,
                zip(results, frozen).allSatisfy({ $0.sequence == $1.sequence })
            else {
                throw SyncError(
                    .unexpectedReply, message: "The server answered changes other than the ones that were sent.")
            }
            try await runner.write { try answers.apply(results, $0) }
            onSent(results.count)
        }
    }

    /// Releases the changes that waited for a column or table, if the server has it now.
    private func releaseWaiting() async throws {
        let lacks = try await runner.read { try Outbox.lacks($0) }
        if lacks.isEmpty { return }
        let schema = try await server.schema()
        let released = lacks.filter { lack in
            let parts = lack.split(separator: ".", maxSplits: 1).map(String.init)
            guard let table = tables.first(where: { $0.name == parts.first }),
                let columns = schema.columns(of: table.type)
            else { return false }
            return parts.count < 2 || columns.contains(parts[1])
        }
        if released.isEmpty { return }
        try await runner.write { try Outbox.release(released, $0) }
    }
}
