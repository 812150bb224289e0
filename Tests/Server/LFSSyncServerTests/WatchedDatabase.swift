import Foundation
import Logging
import Synchronization

@testable import LFSSyncServer
@testable import LFSWire

/// A database that counts its statements and can fail on demand.
///
/// The mutex owns its state.
final class WatchedDatabase: SQLDatabase {
    private struct State {
        var transactions = 0
        var now = 0
        var most = 0
        var statements: [String] = []
        var rows = 0
        var savepoints = 0
        var texts: Set<String> = []
        var failsFrom: (sql: String, failure: SQLFailure)?
    }

    let base: any SQLDatabase
    private let state = Mutex(State())

    init(_ base: any SQLDatabase) { self.base = base }

    var dialect: SQLDialect { base.dialect }

    /// The statements since the last ``clear()``.
    var statements: [String] { state.withLock(\.statements) }
    /// The number of rows that the statements returned since the last ``clear()``.
    var rows: Int { state.withLock(\.rows) }
    /// The text arguments of the statements.
    var texts: Set<String> { state.withLock(\.texts) }
    /// The number of savepoints since the last ``clear()``.
    var savepoints: Int { state.withLock(\.savepoints) }
    /// The number of pages read since the last ``clear()``, each from a type's table or its tombstones.
    var pages: Int { state.withLock { $0.statements.count { $0.contains("LIMIT ?4") } } }
    /// The number of reads and writes since the last ``clear()``.
    var transactions: Int { state.withLock(\.transactions) }
    /// The number of transactions that run now, and the maximum that ran at the same time since the last ``clear()``.
    var now: Int { state.withLock(\.now) }
    var most: Int { state.withLock(\.most) }

    func clear() {
        state.withLock { state in
            let failsFrom = state.failsFrom
            state = State(now: state.now, most: state.now)
            state.failsFrom = failsFrom
        }
    }

    /// Makes every statement that contains the words fail from now on. Nil ends this.
    func fail(_ words: String, failure: SQLFailure?) {
        state.withLock { $0.failsFrom = failure.map { (words, $0) } }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await base.read { [self] db in try counting { try body(Connection(base: db, database: self)) } }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await base.write { [self] db in try counting { try body(Connection(base: db, database: self)) } }
    }

    func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value? {
        try await base.maintain { [self] db in try counting { try body(Connection(base: db, database: self)) } }
    }

    func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? { base.observe(receive) }

    func close() async { await base.close() }

    private func counting<Value>(_ body: () throws -> Value) throws -> Value {
        state.withLock { state in
            state.transactions += 1
            state.now += 1
            state.most = max(state.most, state.now)
        }
        defer { state.withLock { $0.now -= 1 } }
        return try body()
    }

    fileprivate func note(_ sql: String, arguments: [SQLValue]) throws {
        try state.withLock { state in
            state.statements.append(sql)
            for case .text(let text) in arguments { state.texts.insert(text) }
            if let (words, failure) = state.failsFrom, sql.contains(words) { throw failure }
        }
    }

    fileprivate func noteRow() { state.withLock { $0.rows += 1 } }

    fileprivate func noteSavepoint() { state.withLock { $0.savepoints += 1 } }
}

private struct Connection: SQLConnection {
    let base: any SQLConnection
    let database: WatchedDatabase

    var dialect: SQLDialect { base.dialect }

    func execute(_ sql: String, arguments: [SQLValue]) throws -> Int {
        try database.note(sql, arguments: arguments)
        return try base.execute(sql, arguments: arguments)
    }

    func query(_ sql: String, arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
        try database.note(sql, arguments: arguments)
        try base.query(sql, arguments: arguments) { found in
            database.noteRow()
            return try row(found)
        }
    }

    func query(
        _ sql: String, arguments: [SQLValue], columns: [SQLColumn], _ row: (any SQLRow) throws -> Void
    ) throws {
        try database.note(sql, arguments: arguments + columns.flatMap(\.values))
        try base.query(sql, arguments: arguments, columns: columns) { found in
            database.noteRow()
            try row(found)
        }
    }

    func run(script: String) throws { try base.run(script: script) }

    func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
        database.noteSavepoint()
        return try base.savepoint(body)
    }
}

extension TestServer {
    /// Runs a body with a server that counts its database calls.
    static func watched(
        schema: SyncSchema = Self.schema, _ body: (TestServer, WatchedDatabase) async throws -> Void
    ) async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            // The clock of pushes stands still, so that a slow machine exceeds no limit.
            let now = ContinuousClock.now
            let options = SyncServiceOptions()
            let service = try await SyncService(
                watched, schema: schema, options: options, logger: Logger(label: "test"),
                times: LiveTimes(longest: options.longestStream), clock: { now })
            try await body(TestServer(database: watched, service: service), watched)
        }
    }

    /// Makes a number of recipes of an account, each with a title of a given length.
    func fill(_ count: Int, bytes: Int, of account: String = "ann") async throws {
        let scope = try await scope(of: account)
        try await execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO recipe (id, title, scopeID)
            SELECT 'r' || i, '\(String(repeating: "x", count: bytes))', '\(scope)' FROM n
            """)
    }
}

extension TestDevice {
    /// Opens a stream that the test reads piece by piece.
    func open(types: [SyncType] = TestServer.types, isLive: Bool = false) async throws -> SyncStream.Iterator {
        let request = SyncStreamRequest(types: types.map { [$0] }, isLive: isLive)
        let reply = await service.stream(try WireFormat.encode(request), token: token)
        guard case .stream(let stream) = reply.body else { throw WireFailure(.invalidRequest, message: "\(reply)") }
        return stream.makeAsyncIterator()
    }
}
