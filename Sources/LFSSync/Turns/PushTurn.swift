import LFSDatabase
import LFSWire

/// Sends what has changed here, request by request.
struct PushTurn: Sendable {
    let runner: BackgroundRunner
    let server: SyncServer
    let tables: [SyncedTable]

    /// - Parameter onSent: runs after each request, with how many changes it has brought up.
    /// - Throws: ``SyncError``; what was answered before is taken in.
    func run(_ onSent: (Int) -> Void) async throws {
        let answers = AnswerApply(tables: tables)
        try await runner.write { try answers.acceptUnheard($0) }
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
            let results = try await server.push(frozen.map(\.line), of: own)
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
}
