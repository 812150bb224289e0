public import GRDB
import LFSDatabase
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// Keeps the synced tables of one database the same as those of the account's other devices, through a server.
///
/// ```swift
/// let sync = try await SyncClient.open(database, options: SyncOptions(server: server, token: { token }))
/// try await sync.synchronize()          // once
/// try await sync.run { status in … }    // or until the task is cancelled
/// ```
///
/// While it is used, files that are deleted here keep their bytes until the server has accepted the deletion.
public final class SyncClient: Sendable {
    private let runner: BackgroundRunner
    private let database: any DatabaseReader
    private let transport: any HTTPTransport
    private let server: SyncServer
    private let pushing: PushTurn
    private let streaming: StreamTurn
    private let verifying: VerifyTurn
    private let refused: RefusedChanges
    private let clock: any Clock<Duration>
    /// One of each at a time: the numbers of changes and of acks have no gap.
    private let pushTurn = Permits(1)
    private let streamTurn = Permits(1)

    /// Opens sync on a database whose migrations have run. Nothing goes over the network.
    ///
    /// - Throws: ``SyncError``: a table that was installed cannot be shared any more, or the server's URL is none.
    public static func open(_ database: any DatabaseWriter, options: SyncOptions) async throws -> SyncClient {
        let runner = BackgroundRunner(database)
        let tables = try await runner.write { db in
            let tables = try SyncedTable.all(db)
            try StateTable.holdDeletions(true, db)
            return tables
        }
        return try SyncClient(runner, database, tables, options)
    }

    private init(
        _ runner: BackgroundRunner, _ database: any DatabaseReader, _ tables: [SyncedTable], _ options: SyncOptions
    ) throws(SyncError) {
        let base: Endpoint
        do {
            base = try Endpoint(options.server)
        } catch {
            throw SyncError(.invalidServer, error.message, cause: error)
        }
        guard base.origin.isPermitted(allowsPlainHTTP: options.allowsPlainHTTP) else {
            throw SyncError(
                .invalidServer,
                """
                The sync server's URL is http, with which the token can be read on the way. Use https, or set \
                SyncOptions.allowsPlainHTTP.
                """)
        }
        var connection = ConnectionOptions()
        connection.allowsPlainHTTP = options.allowsPlainHTTP
        connection.certificateAuthorities = options.certificateAuthorities
        transport = options.transport ?? DefaultTransport.make(HTTPOptions(connection))
        clock = options.clock
        server = SyncServer(base: base, transport: transport, token: options.token)
        (self.runner, self.database) = (runner, database)
        pushing = PushTurn(runner: runner, server: server, tables: tables, clock: options.clock)
        refused = RefusedChanges(tables: tables)
        streaming = StreamTurn(runner: runner, server: server, tables: tables, clock: options.lineClock)
        verifying = VerifyTurn(runner: runner, server: server, tables: tables)
    }

    /// Ends what is under way, and closes the connections.
    public func shutdown() async { await transport.shutdown() }

    /// Sends what has changed here, and takes what has changed elsewhere, once. What cannot be sent does not keep the
    /// rest from coming.
    ///
    /// - Parameter onProgress: runs whenever some rows have gone or come, with how many so far.
    /// - Returns: what has come of it.
    /// - Throws: ``SyncError``, `CancellationError`, `DatabaseError`. What was applied before stays.
    @discardableResult public func synchronize(
        onProgress: @escaping @Sendable (SyncReport) -> Void = { _ in }
    ) async throws -> SyncReport {
        let progress = SyncProgress(onProgress)
        return try await worded { try await synchronize(progress) }
    }

    private func synchronize(_ progress: SyncProgress) async throws -> SyncReport {
        // A reset that this device has begun and the server has not heard of comes before all else.
        if try await streamTurn.withPermit({ try await streaming.acknowledge() }) == nil {
            // Nothing is sent before it is known whose rows these are: the next session may be another account's.
            try await receive(progress)
        }
        var failure: (any Error)?
        do {
            try await send(progress)
        } catch let error as SyncError where error.code == .forked {
            // One of the two is an older copy of itself: both begin anew.
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

    /// Synchronizes, and then compares which rows are here with which are on the server. Where they differ, as after a
    /// database was mended by hand, everything comes anew.
    ///
    /// It compares ids, not what the rows have; tables with changes that are on their way are left out. Rows whose
    /// change was refused or waits for the server are in ``SyncVerification/problems``.
    /// - Throws: As ``synchronize(onProgress:)``.
    public func verify() async throws -> SyncVerification { try await worded { try await mended() } }

    private func mended() async throws -> SyncVerification {
        let first = try await compare()
        var differing = first.filter(\.value.differs)
        // What others write meanwhile looks like a difference, once.
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

    /// Makes the changes of a row again that the server has refused, and queues them: the row gets what was refused,
    /// and the next synchronization sends it. To be called when the reason is gone, such as after the server's upgrade.
    ///
    /// - Parameter problem: a refused change, as ``SyncProblem/fetch(limit:_:)`` returns it.
    /// - Returns: how many changes were made again; 0 for a row that is gone, and for a problem of another kind.
    /// - Throws: `DatabaseError`, `CancellationError`.
    @discardableResult public func resend(_ problem: SyncProblem) async throws -> Int {
        guard problem.kind == .refused else { return 0 }
        return try await runner.write { [refused] db in
            try refused.makeAgain(table: problem.table, key: problem.id, db)
        }
    }

    /// The id of the account with a name, by which rows that share something name it; nil when there is none.
    ///
    /// The server answers it only where it was told to: `lfs-server serve --name-accounts`.
    /// - Throws: ``SyncError``, `CancellationError`.
    public func account(named name: String) async throws -> String? { try await server.account(named: name) }

    /// The id of the account whose rows these are; nil before a first synchronization.
    ///
    /// - Throws: `DatabaseError`, `CancellationError`.
    public func ownAccount() async throws -> String? {
        try await runner.read { try SyncCheckpoints.ownScope($0) }?.id
    }

    private func compare() async throws -> [VerifyTurn.Place: VerifyTurn.Pair] {
        try await synchronize()
        return try await verifying.compare()
    }

    /// Synchronizes, and goes on: what is written here is sent at once, and what others write comes within a second.
    /// When the server is away it is asked again, with growing delays up to a minute.
    ///
    /// - Parameters:
    ///   - onStatus: runs whenever all there is has come.
    ///   - onOutage: runs whenever the server is away or asks for patience, before it is asked again. Until the next
    ///     `onStatus`, nothing comes or goes.
    /// - Throws: ``SyncError`` that waiting does not mend, `DatabaseError`, `CancellationError`.
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
                    // The server was restored meanwhile, or this database: the next turn begins anew.
                }
                // A server that does not keep streams open is asked again and again, but not at once.
                if ContinuousClock.now - start < .seconds(10) { try await clock.sleep(for: .seconds(10)) }
            } catch let error as SyncError where error.isRetryable {
                await onOutage(error)
                let wanted = error.retryAfter.map { Duration.seconds($0) } ?? delay
                try await clock.sleep(for: min(max(wanted, delay), .seconds(600)))
                delay = min(delay * 2, .seconds(60))
            }
        }
    }

    /// Says in this module's words what has become of the database.
    private func worded<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as TableError where error.code == .noSpace {
            throw SyncError(.noSpace, error.message, cause: error)
        } catch let error as TableError where error.code == .readOnly || error.code == .closed {
            throw SyncError(.unusableDatabase, error.message, cause: error)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // A table may have gone since the client was opened.
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
        return report
    }

    /// Until the server ends the stream.
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
                    if progress.report.sent > 0 { await onStatus(try await completed(progress.report)) }
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }
}
