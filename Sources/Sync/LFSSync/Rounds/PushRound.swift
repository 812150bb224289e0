import LFSDatabase
import LFSWire
import Synchronization

/// A round that sends the local changes, request by request.
struct PushRound: Sendable {
    let runner: BackgroundRunner
    let server: SyncHTTPClient
    let tables: [SyncedTable]
    /// The clock for the delays that a server asks for.
    let clock: any Clock<Duration>
    let served = ServedVersions()

    /// The number of consecutive requests that the server may postpone before the push fails.
    private static let patience = 20

    /// Sends all changes that are due.
    ///
    /// - Parameter onSent: called after each request with the number of answered changes that do not wait for room.
    /// - Throws: ``SyncError``. Answers that arrived before the error stay applied.
    func run(_ onSent: (Int) -> Void) async throws {
        let answers = AnswerApply(tables: tables)
        try await runner.write { try answers.acceptUnheard($0) }
        let sentTables = try await servedTables()
        var probe = QuotaProbe()
        var delayCount = 0
        while true {
            try Task.checkCancellation()
            let (frozen, own, next, isReleased) = try await runner.write { [probe] db in
                let own = try SyncCheckpoints.ownScope(db)
                let frozen = try Outbox.freeze(
                    limit: SyncMutation.limit, byteLimit: SyncMutation.byteLimit, sentTables, of: own, db)
                var next = probe
                let isReleased = try frozen.isEmpty && next.release(db)
                return (frozen, own, next, isReleased)
            }
            if isReleased {
                probe = next
                continue
            }
            if frozen.isEmpty { return }
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
            let waitingCount = try await runner.write { try answers.apply(results, $0) }
            probe.note(results, of: frozen)
            onSent(results.count - waitingCount)
        }
    }

    /// Returns the tables with the versions that the server has. Releases the changes that waited for a column or
    /// table, if the server has it now.
    ///
    /// The server is asked only if changes are queued, and only if some wait or the server may be older than this app.
    private func servedTables() async throws -> [SyncedTable] {
        let (lacks, isEmpty) = try await runner.read { (try Outbox.lacks($0), try Outbox.isEmpty($0)) }
        guard !isEmpty, !lacks.isEmpty || !served.areNewest(of: tables) else { return tables.map(served.limited) }
        let schema = try await server.schema()
        served.note(tables.compactMap { schema.best(of: $0)?.type })
        let released = lacks.filter { lack in
            let parts = lack.split(separator: ".", maxSplits: 1).map(String.init)
            guard let table = tables.first(where: { $0.name == parts.first }), let best = schema.best(of: table) else {
                return false
            }
            return parts.count < 2 || best.columns.contains(parts[1])
        }
        if !released.isEmpty { try await runner.write { try Outbox.release(released, $0) } }
        return tables.map(served.limited)
    }
}

/// The versions of rows that the server had when it was last asked.
///
/// The mutex owns the versions.
final class ServedVersions: Sendable {
    private let types = Mutex<[String: SyncType]>([:])

    /// Replaces the versions.
    func note(_ best: [SyncType]) {
        let found = Dictionary(best.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        types.withLock { $0 = found }
    }

    /// Returns true if the server is known to have the newest version of each table that has several.
    func areNewest(of tables: [SyncedTable]) -> Bool {
        let known = types.withLock { $0 }
        return tables.allSatisfy { $0.type.version == 1 || known[$0.type.name] == $0.type }
    }

    /// Returns a table with the version that the server has. A table that it lacks keeps its newest version.
    func limited(_ table: SyncedTable) -> SyncedTable {
        let known = types.withLock { $0[table.type.name] }
        return known.map { table.limited(to: $0) } ?? table
    }
}
