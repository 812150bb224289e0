public import GRDB
import LFSDatabase
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// A client that keeps the synced tables of a database equal to those of the account's other devices, through a server.
///
/// ```swift
/// let sync = try await SyncClient.open(database, options: SyncOptions(server: server, token: { token }))
/// try await sync.synchronize()          // once
/// try await sync.run { status in … }    // or until the task is cancelled
/// ```
///
/// While sync is in use, files that are deleted on this device keep their bytes until the server has accepted the
/// deletion.
public final class SyncClient: Sendable {
    private let runner: BackgroundRunner
    private let database: any DatabaseReader
    private let transport: any HTTPTransport
    private let server: SyncHTTPClient
    private let pushing: PushRound
    private let streaming: PullRound
    private let verifying: VerifyRound
    private let refused: RefusedChanges
    private let clock: any Clock<Duration>
    /// Only one round of each kind runs at a time, so that the numbers of changes and of acks have no gaps.
    private let pushTurn = AsyncSemaphore(1)
    private let streamTurn = AsyncSemaphore(1)

    /// Opens sync on a database whose migrations have run. Does not use the network.
    ///
    /// - Throws: ``SyncError`` if an installed table can no longer be synced, or if the server's URL is invalid.
    public static func open(_ database: any DatabaseWriter, options: SyncOptions) async throws -> SyncClient {
        let runner = BackgroundRunner(database)
        let tables = try await runner.write { db in
            let tables = try SyncedTable.all(db)
            try StateTable.holdDeletions(true, db)
            return tables
        }
        return try SyncClient(runner, database: database, tables: tables, options: options)
    }

    private init(
        _ runner: BackgroundRunner, database: any DatabaseReader, tables: [SyncedTable], options: SyncOptions
    ) throws(SyncError) {
        let base: Endpoint
        do {
            base = try Endpoint(options.server)
        } catch {
            throw SyncError(.invalidServer, message: error.message, cause: error)
        }
        guard base.origin.isPermitted(allowsPlainHTTP: options.allowsPlainHTTP) else {
            throw SyncError(
                .invalidServer,
                message: """
                    The URL of the sync server is http, so others on the network can read the token. Use https, or set \
                    SyncOptions.allowsPlainHTTP.
                    """)
        }
        do {
            transport = try options.connection.transport(options.transport)
        } catch {
            throw SyncError(.invalidServer, message: error.message, cause: error)
        }
        clock = options.clock
        server = SyncHTTPClient(base: base, transport: transport, token: options.token)
        self.runner = runner
        self.database = database
        pushing = PushRound(runner: runner, server: server, tables: tables, clock: options.clock)
        refused = RefusedChanges(tables: tables)
        streaming = PullRound(runner: runner, server: server, tables: tables, clock: options.lineClock)
        verifying = VerifyRound(runner: runner, server: server, tables: tables)
    }

    /// Ends the current requests and closes the connections.
    public func shutdown() async { await transport.shutdown() }

    /// Sends local changes and receives those of other devices, once. A change that cannot be sent does not keep the
    /// others from arriving.
    ///
    /// - Parameter onProgress: called whenever rows were sent or received, with the counts so far.
    /// - Returns: the counts of this synchronization, and of the changes that wait.
    /// - Throws: ``SyncError``, `CancellationError`, `DatabaseError`. Changes that were applied before the error stay.
    @discardableResult public func synchronize(
        onProgress: @escaping @Sendable (SyncReport) -> Void = { _ in }
    ) async throws -> SyncReport {
        let progress = SyncProgress(onProgress)
        return try await worded { try await synchronize(progress) }
    }

    private func synchronize(_ progress: SyncProgress) async throws -> SyncReport {
        // A reset that this device has started is reported to the server before anything else.
        if try await streamTurn.withPermit({ try await streaming.acknowledge() }) == nil {
            // Nothing is sent before the owner of these rows is known. The next session may belong to another account.
            try await receive(progress)
        }
        var failure: (any Error)?
        do {
            try await send(progress)
        } catch let error as SyncError where error.code == .forked {
            // One of the two databases is an older copy of itself, so both start over.
            try await receive(progress, resets: true)
            try await send(progress)
        } catch {
            failure = error
        }
        let resets = try await runner.read { try SyncCheckpoints.isToReset($0) }
        try await receive(progress, resets: resets)
        if let failure { throw failure }
        return try await completed(progress.report)
    }

    /// Synchronizes, and then compares the rows on this device with those on the server. If they differ, for example
    /// after a database was repaired by hand, the client receives everything again.
    ///
    /// The comparison covers ids, not the contents of rows. Tables with pending changes are left out. Rows whose change
    /// was refused or waits for the server are in ``SyncVerification/problems``.
    /// - Throws: the same errors as ``synchronize(onProgress:)``.
    public func verify() async throws -> SyncVerification { try await worded { try await mended() } }

    /// Synchronizes, and then receives all rows of the server again, as a new device does. Rows that the server no
    /// longer has are deleted, and changed ones are replaced. Local changes were sent before, or stay queued.
    ///
    /// Call it if the contents of rows may be wrong on this device, for example after a database was repaired by hand.
    /// ``verify()`` finds only missing and additional rows. An interrupted reset continues with the next
    /// synchronization.
    ///
    /// - Parameter onProgress: called whenever rows were sent or received, with the counts so far.
    /// - Returns: the counts of the synchronization and the reset together.
    /// - Throws: the same errors as ``synchronize(onProgress:)``.
    @discardableResult public func reset(
        onProgress: @escaping @Sendable (SyncReport) -> Void = { _ in }
    ) async throws -> SyncReport {
        let progress = SyncProgress(onProgress)
        return try await worded {
            _ = try await synchronize(progress)
            try await receive(progress, resets: true)
            return try await completed(progress.report)
        }
    }

    private func mended() async throws -> SyncVerification {
        let first = try await compare()
        var differing = first.filter(\.value.differs)
        // Changes of other devices during the comparison look like a difference, but only once.
        if !differing.isEmpty {
            differing = try await compare().filter { differing[$0.key] != nil && $0.value.differs }
        }
        guard !differing.isEmpty else {
            return SyncVerification(compared: first.count, differences: [], problems: try await problems())
        }
        try await receive(SyncProgress(), resets: true)
        let left = try await compare().filter(\.value.differs)
        let differences = differing.map { place, pair in
            SyncVerification.Difference(
                type: place.type.description, scope: place.scope?.description, here: pair.here.digest.count,
                there: pair.there.count, isMended: left[place] == nil)
        }
        return SyncVerification(
            compared: first.count,
            differences: differences.sorted { ($0.type, $0.scope ?? "") < ($1.type, $1.scope ?? "") },
            problems: try await problems())
    }

    private func problems() async throws -> [SyncProblem] {
        try await runner.read { try SyncProblem.fetch(limit: 1_000, $0) }
    }

    /// Makes the refused changes of a row again and queues them. The row gets the refused values, and the next
    /// synchronization sends them. Call it when the reason for the refusal no longer applies, for example after an
    /// upgrade of the server.
    ///
    /// - Parameter problem: a refused change, as ``SyncProblem/fetch(limit:_:)`` returns it.
    /// - Returns: the number of changes that were made again. A change of some columns of a deleted row stays refused.
    ///   The number is 0 for a problem of another kind.
    /// - Throws: `DatabaseError`, `CancellationError`.
    @discardableResult public func resend(_ problem: SyncProblem) async throws -> Int {
        guard problem.kind == .refused else { return 0 }
        return try await runner.write { [refused] db in
            try refused.makeAgain(table: problem.table, key: problem.id, db)
        }
    }

    /// Returns the id of the account with a name, or nil if no account has that name. Rows that share something refer
    /// to an account by this id.
    ///
    /// The server answers only if it was started with `lfs-server serve --name-accounts`.
    /// - Throws: ``SyncError``, `CancellationError`.
    public func account(named name: String) async throws -> String? { try await server.account(named: name) }

    /// Returns the id of the account that owns the rows, or nil before a first synchronization.
    ///
    /// - Throws: `DatabaseError`, `CancellationError`.
    public func ownAccount() async throws -> String? {
        try await runner.read { try SyncCheckpoints.ownScope($0) }?.id
    }

    private func compare() async throws -> [VerifyRound.Place: VerifyRound.Pair] {
        try await synchronize()
        return try await verifying.compare()
    }

    /// Synchronizes continuously. Local changes are sent at once, and changes of other devices arrive within a second.
    /// If the server is unreachable, the client retries with growing delays of up to a minute. If the server asks for a
    /// longer delay, the client waits up to ten minutes.
    ///
    /// - Parameters:
    ///   - onStatus: called whenever all available changes have arrived, and after local changes were sent.
    ///   - onOutage: called before a retry, when the server is unreachable or asks the client to wait. Nothing is sent
    ///     or received until the next `onStatus`.
    /// - Throws: ``SyncError`` that waiting does not resolve, `DatabaseError`, `CancellationError`.
    public func run(
        onStatus: @escaping @Sendable (SyncReport) async -> Void = { _ in },
        onOutage: @escaping @Sendable (SyncError) async -> Void = { _ in }
    ) async throws {
        var delay = Duration.seconds(1)
        while true {
            do {
                let report = try await synchronize()
                await onStatus(report)
                delay = .seconds(1)
                let start = ContinuousClock.now
                do {
                    try await worded { try await follow(onStatus) }
                } catch let error as SyncError where error.code == .forked {
                    // The server or this database was restored from a backup in the meantime. The next round starts
                    // over.
                }
                // A server that does not keep streams open is asked again, but not immediately.
                if ContinuousClock.now - start < .seconds(10) { try await clock.sleep(for: .seconds(10)) }
            } catch let error as SyncError where error.isRetryable {
                await onOutage(error)
                let wanted = error.retryAfter.map { Duration.seconds($0) } ?? delay
                try await clock.sleep(for: min(max(wanted, delay), .seconds(600)))
                delay = min(delay * 2, .seconds(60))
            }
        }
    }

    /// Runs a body and converts errors of the database into errors of this module.
    private func worded<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as TableError where error.code == .noSpace {
            throw SyncError(.noSpace, message: error.message, cause: error)
        } catch let error as TableError where error.code == .readOnly || error.code == .closed {
            throw SyncError(.unusableDatabase, message: error.message, cause: error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // A table may have been dropped since the client was opened.
            _ = try await runner.read { try SyncedTable.all($0) }
            throw error
        }
    }

    private func send(_ progress: SyncProgress) async throws {
        try await pushTurn.withPermit { try await pushing.run { progress.sent($0) } }
    }

    private func receive(_ progress: SyncProgress, resets: Bool = false) async throws {
        try await streamTurn.withPermit { try await streaming.run(resets: resets) { progress.received($0) } }
    }

    private func completed(_ report: SyncReport) async throws -> SyncReport {
        var report = report
        let standing = try await runner.read { try SyncReport.standing(in: $0) }
        report.pending = standing.pending
        report.parked = standing.parked
        report.rejected = standing.rejected
        report.lacking = standing.lacking
        report.exceeded = standing.exceeded
        return report
    }

    /// Sends and receives changes until the server ends the stream.
    private func follow(_ onStatus: @escaping @Sendable (SyncReport) async -> Void) async throws {
        let changes = ValueObservation.trackingConstantRegion { try Outbox.newest($0) }.values(in: database)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [self] in
                try await streamTurn.withPermit {
                    try await streaming.follow { [self] count in
                        var report = SyncReport()
                        report.received = count
                        await onStatus(try await completed(report))
                    }
                }
            }
            group.addTask { [self] in
                for try await newest in changes where newest != nil {
                    let progress = SyncProgress()
                    try await send(progress)
                    let report = try await completed(progress.report)
                    if report.sent > 0 || !report.exceeded.isEmpty { await onStatus(report) }
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}
