import LFSDatabase
import LFSWire

/// Sends what has changed here, request by request.
struct PushTurn: Sendable {
    let runner: BackgroundRunner
    let server: SyncServer
    let tables: [SyncedTable]
    /// For a server that asks for patience.
    let clock: any Clock<Duration>

    /// Requests in a row that the server may put off before the push fails.
    private static let patience = 20

    /// - Parameter onSent: runs after each request, with how many changes it has brought up.
    /// - Throws: ``SyncError``; what was answered before is taken in.
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
            // A number under which the server has heard something is never given to something else, also when the
            // power goes.
            try await runner.writeDurably { _ in }
            let results: [SyncMutationResult]
            do {
                results = try await server.push(frozen.map(\.line), of: own)
                delayCount = 0
            } catch let error as SyncError where error.isThrottled && delayCount < Self.patience {
                // A large first push is more than an account may send at once.
                delayCount += 1
                try await clock.sleep(for: .seconds(min(max(error.retryAfter ?? 1, 1), 60)))
                continue
            }
            // One whose answers are long answers to the first of them.
            guard !results.isEmpty, results.count <= frozen.count,
                zip(results, frozen).allSatisfy({ $0.sequence == $1.sequence })
            else {
                throw SyncError(.unexpectedReply, "The server answered to other changes than those that were sent.")
            }
            try await runner.write { try answers.apply(results, $0) }
            onSent(results.count)
        }
    }

    /// Lets changes be sent that waited for a column or a table, where the server has it now.
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
