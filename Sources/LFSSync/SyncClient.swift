public import GRDB
import LFSDatabase
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Keeps the synced tables of one database the same as those of the account's other devices, through a server.
///
/// ```swift
/// let sync = try await SyncClient.open(database, options: SyncOptions(server: server, token: { token }))
/// try await sync.synchronize()
/// ```
public final class SyncClient: Sendable {
    private let runner: BackgroundRunner
    private let server: SyncServer
    private let transport: any HTTPTransport
    private let tables: [SyncedTable]

    /// Opens sync on a database whose migrations have run. Nothing goes over the network.
    ///
    /// - Throws: ``SyncError``: a table that was installed cannot be shared any more, or the server's URL is none.
    public static func open(_ database: any DatabaseWriter, options: SyncOptions) async throws -> SyncClient {
        let runner = BackgroundRunner(database)
        let tables = try await runner.read { try SyncedTable.all($0) }
        return try SyncClient(runner, tables, options)
    }

    private init(_ runner: BackgroundRunner, _ tables: [SyncedTable], _ options: SyncOptions) throws(SyncError) {
        let base: Endpoint
        do {
            base = try Endpoint(options.server)
        } catch {
            throw SyncError(.invalidServer, error.message, cause: error)
        }
        guard base.origin.isSecure || options.allowsPlainHTTP else {
            throw SyncError(
                .invalidServer, "The sync server's URL is http, with which the token can be read on the way: use https."
            )
        }
        self.runner = runner
        self.tables = tables
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = options.allowsPlainHTTP
        transport = options.transport ?? DefaultTransport.make(HTTPOptions(connection))
        server = SyncServer(base: base, transport: transport, token: options.token)
    }

    /// Ends what is under way, and closes the connections.
    public func shutdown() async { await transport.shutdown() }

    /// Sends what has changed here, and takes what has changed elsewhere, once.
    ///
    /// - Returns: what has come of it.
    /// - Throws: ``SyncError``, `CancellationError`, `DatabaseError`. What was applied before stays.
    @discardableResult public func synchronize() async throws -> SyncReport {
        var report = SyncReport()
        report.sent = try await push()
        report.received = try await pull()
        report.pending = try await runner.read { try Outbox.count($0) }
        report.parked = try await runner.read { try ParkedTable.count($0) }
        return report
    }

    // MARK: Up

    private func push() async throws -> Int {
        let byName = Dictionary(tables.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var count = 0
        while true {
            try Task.checkCancellation()
            let frozen = try await runner.write { db in
                try Outbox.freeze(limit: SyncMutation.limit, byteLimit: SyncMutation.byteLimit * 3 / 4, byName, db)
            }
            guard !frozen.isEmpty else { return count }
            let results = try await server.push(frozen.map(\.line))
            guard results.map(\.sequence) == frozen.map(\.sequence) else {
                throw SyncError(.unexpectedReply, "The server answered to other changes than those that were sent.")
            }
            try await runner.write { db in
                for result in results {
                    switch result.outcome {
                    case .applied(let position): try Outbox.applied(result.sequence, at: position, db)
                    case .conflict:
                        try Outbox.rejected(result.sequence, WireFailure(.outOfStep, "The row was another one."), db)
                    case .rejected(let failure, _): try Outbox.rejected(result.sequence, failure, db)
                    }
                }
            }
            count += results.count
        }
    }

    // MARK: Down

    private func pull() async throws -> Int {
        var received = 0
        while true {
            let outcome = try await stream()
            received += outcome.changed
            try await acknowledge()
            if outcome.isComplete { return received }
            guard outcome.hasReset else {
                throw SyncError(.cut, "The stream ended in its middle. What had come is kept; try again.")
            }
        }
    }

    private func acknowledge() async throws {
        while let batch = try await runner.write({ try SyncCheckpoints.batch($0) }) {
            try await server.acknowledge(batch)
            try await runner.write { try SyncCheckpoints.acknowledged(batch, $0) }
        }
    }

    private func stream() async throws -> BatchApply.Outcome {
        let own = try await runner.read { try String.fetchOne($0, sql: "SELECT account FROM lfs_sync_state") }
        let feed = LineFeed(own: own.flatMap { SyncScope($0) })
        let request = SyncStreamRequest(types: tables.map { [$0.type] })
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [server] in
                defer { feed.end() }
                try await server.stream(request, into: feed)
            }
            defer { feed.end() }
            var total = BatchApply.Outcome()
            for await batch in feed.batches {
                let outcome = try await apply(batch)
                feed.taken()
                total.changed += outcome.changed
                total.isComplete = total.isComplete || outcome.isComplete
                total.hasReset = total.hasReset || outcome.hasReset
                if case .failure(let failure)? = batch.last(where: \.isFailure) {
                    throw SyncError(.unavailable, failure.message, retryAfter: failure.retryAfter)
                }
            }
            try await group.waitForAll()
            return total
        }
    }

    private func apply(_ batch: [SyncLine]) async throws -> BatchApply.Outcome {
        let apply = BatchApply(tables)
        let own = batch.lazy.compactMap(\.ownScope).first
        do {
            return try await runner.writeAlone { db in
                try SyncCheckpoints.note(own, db)
                return try apply.together(batch, db)
            }
        } catch let error as DatabaseError where error.isOfRow {
            return try await runner.writeAlone { db in
                try SyncCheckpoints.note(own, db)
                return try apply.oneByOne(batch, db)
            }
        }
    }
}

/// What has come of one synchronization.
public struct SyncReport: Sendable, Hashable {
    /// Local changes that the server has answered.
    public var sent = 0
    /// Rows that others have changed.
    public var received = 0
    /// Local changes that wait still.
    public var pending = 0
    /// Rows that have come and cannot be applied yet.
    public var parked = 0
}

extension SyncLine {
    fileprivate var isFailure: Bool {
        if case .failure = self { return true }
        return false
    }
}
