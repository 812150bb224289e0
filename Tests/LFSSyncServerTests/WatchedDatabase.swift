import Foundation
import Synchronization

@testable import LFSSyncServer
@testable import LFSWire

/// A database that counts what is asked of it, and fails when a test wants it to.
///
/// Owner of its state: the mutex.
final class WatchedDatabase: SQLDatabase {
    private struct State {
        var transactions = 0
        var now = 0
        var most = 0
        var statements: [String] = []
        var rows = 0
        var texts: Set<String> = []
        var failsFrom: (sql: String, failure: SQLFailure)?
    }

    let base: any SQLDatabase
    private let state = Mutex(State())

    init(_ base: any SQLDatabase) { self.base = base }

    var dialect: SQLDialect { base.dialect }

    /// The statements since the last ``clear()``.
    var statements: [String] { state.withLock(\.statements) }
    /// How many rows they have brought.
    var rows: Int { state.withLock(\.rows) }
    /// What texts they were given.
    var texts: Set<String> { state.withLock(\.texts) }
    /// How many pages were read since then: of each type's table, and of what is gone of it.
    var pages: Int { state.withLock { $0.statements.count { $0.contains("LIMIT ?4") } } }
    /// Reads and writes since then.
    var transactions: Int { state.withLock(\.transactions) }
    /// How many of them run, and how many have run at once since then.
    var now: Int { state.withLock(\.now) }
    var most: Int { state.withLock(\.most) }

    func clear() {
        state.withLock { ($0.transactions, $0.statements, $0.rows, $0.texts, $0.most) = (0, [], 0, [], $0.now) }
    }

    /// Every statement that has these words fails from now on; nil for none.
    func fail(_ words: String, _ failure: SQLFailure?) {
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

    fileprivate func note(_ sql: String, _ arguments: [SQLValue]) throws {
        try state.withLock { state in
            state.statements.append(sql)
            for case .text(let text) in arguments { state.texts.insert(text) }
            if let (words, failure) = state.failsFrom, sql.contains(words) { throw failure }
        }
    }

    fileprivate func noteRow() { state.withLock { $0.rows += 1 } }
}

private struct Connection: SQLConnection {
    let base: any SQLConnection
    let database: WatchedDatabase

    var dialect: SQLDialect { base.dialect }

    func execute(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
        try database.note(sql, arguments)
        return try base.execute(sql, arguments)
    }

    func query(_ sql: String, _ arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
        try database.note(sql, arguments)
        try base.query(sql, arguments) { found in
            database.noteRow()
            return try row(found)
        }
    }

    func run(script: String) throws { try base.run(script: script) }
    func savepoint<Value>(_ body: () throws -> Value) throws -> Value { try base.savepoint(body) }
}

extension TestServer {
    /// A server that counts what it asks of its database.
    static func watched(
        schema: SyncSchema = Self.schema, _ body: (TestServer, WatchedDatabase) async throws -> Void
    ) async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            let service = try await SyncService(watched, schema: schema)
            try await body(TestServer(database: watched, service: service), watched)
        }
    }

    /// Makes so many recipes of an account, each with a title of so many bytes.
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
    /// A stream that is read piece by piece.
    func open(types: [SyncType] = TestServer.types, isLive: Bool = false) async throws -> SyncStream.Iterator {
        let request = SyncStreamRequest(types: types.map { [$0] }, isLive: isLive)
        let reply = await service.stream(try WireFormat.encode(request), token: token)
        guard case .stream(let stream) = reply.body else { throw WireFailure(.invalidRequest, "\(reply)") }
        return stream.makeAsyncIterator()
    }
}
