import Foundation
import LFSWire
import Synchronization
import Testing

@testable import LFSSyncServer

@Suite("N 6: plans on SQLite", .timeLimit(.minutes(5)))
struct PlanTests {
    @Test("every statement of work, and of every trigger, searches by an index among 100,000 rows, and sorts none")
    func plans() async throws {
        try await TestStore.run { database in
            let recorder = StatementRecorder(database)
            let service = try await SyncService(recorder, schema: SharingServer.schema)
            let server = TestServer(database: recorder, service: service)
            try await work(server)
            // Enough for a plan that is wrong to be chosen, where it looks at numbers.
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                INSERT INTO note (id, text, scopeID) SELECT 'n' || i, 'x', '\(scope)' FROM n;
                DELETE FROM note WHERE id LIKE 'n1%'
                """)
            try await work(server)
            let statements = recorder.statements + (try await triggerStatements(database))
            #expect(statements.count > 150, "\(statements.count)")
            try await database.read { db in
                for sql in statements {
                    for step in try Self.plan(sql, db) where Self.isSlow(step) && !Self.mayBe(step, in: sql) {
                        Issue.record("\(step): \(sql)")
                    }
                }
            }
        }
    }

    /// Everything that a server does, so that each of its statements is run.
    private func work(_ server: TestServer) async throws {
        let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
        let name = UUID().uuidString
        for person in [ann, bob] {
            let file = "f\(person.name)\(name)"
            try await person.file(file)
            try await person.rename(file, "new")
            try await person.sync()
        }
        let file = "fann\(name)"
        try await ann.album("x\(name)")
        try await ann.link("x\(name)", file)
        try await ann.share("x\(name)", bob)
        try await ann.letRead(bob)
        try await bob.sync()
        try await ann.device.put("NoteV1", "note\(name)", ["fileID": .text(file), "text": .text("x")])
        try await ann.device.push(.patch, "NoteV1", "note\(name)", ["text": .text("y")])
        try await ann.unlink("x\(name)", file)
        try await ann.unshare("x\(name)", bob)
        try await ann.stopLetting(bob)
        try await bob.sync()
        try await ann.delete("NoteV1", "note\(name)")
        try await ann.delete("FileV1", file)
        try await ann.delete("AlbumV1", "x\(name)")
        try await ann.sync()
        let request = SyncStreamRequest(types: SharingServer.types.map { [$0] })
        let body = try WireFormat.encode(request)
        #expect(await server.service.digest(body, token: ann.device.token).status == 200)
        #expect(await server.service.acknowledged(token: ann.device.token).status == 200)
        #expect(await server.service.forget(Data(), token: ann.device.token).status == 204)
        try await server.service.prune()
        let session = try #require(try await server.service.sessions(account: "ann").first)
        #expect(try await server.service.resetSession(session.id))
        _ = try await server.service.sessions()
        #expect(try await server.service.removeSession(session.id))
        _ = try await server.person("carl")
        #expect(try await server.service.removeAccount(named: "carl"))
        try await server.service.restored()
    }

    // MARK: Plans

    private static func plan(_ sql: String, _ db: any SQLConnection) throws -> [String] {
        var steps: [String] = []
        let arguments = sql.matches(of: /\?(\d+)/).compactMap { Int($0.1) }.max() ?? 0
        do {
            try db.query("EXPLAIN QUERY PLAN \(sql)", Array(repeating: .text("x"), count: arguments)) { row in
                steps.append(try row.text(3) ?? "")
                return true
            }
        } catch let error as SQLFailure {
            Issue.record("\(error): \(sql)")
        }
        return steps
    }

    private static func isSlow(_ step: String) -> Bool {
        if step.hasPrefix("USE TEMP B-TREE") { return true }
        guard step.hasPrefix("SCAN "), step != "SCAN CONSTANT ROW" else { return false }
        return !step.contains("(subquery")
    }

    /// What may take longer: a beginning of a statement, or a part of it, and what of its plan.
    private static let exceptions: [(part: String, step: String)] = [
        // One row.
        ("", "SCAN sync_state"),
        // As many rows as one container has, or one session has scopes.
        ("INSERT INTO sync_member (scopeID, tableName, key, updateID) SELECT DISTINCT", "USE TEMP B-TREE FOR DISTINCT"),
        ("SELECT DISTINCT c.scopeID, NULL", "USE TEMP B-TREE FOR DISTINCT"),
        // At the start.
        ("DELETE FROM sync_object", "SCAN sync_object"), ("FROM sqlite_master", "SCAN sqlite_master"),
        // Once a day, or when somebody asks who runs the server.
        ("SELECT scopeID FROM sync_tombstone WHERE updateID < ?1", "SCAN sync_tombstone USING COVERING INDEX"),
        ("SELECT scopeID FROM sync_tombstone WHERE updateID < ?1", "SCAN sync_member"),
        ("DELETE FROM sync_session WHERE expiresAt <= ?1", "SCAN sync_session"),
        ("FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY", "SCAN s"),
        ("FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY", "USE TEMP B-TREE FOR ORDER BY"),
        // When an account is removed.
        ("DELETE FROM \"partner\" WHERE \"sharedWithID\"", "SCAN partner"),
        ("DELETE FROM \"album_user\" WHERE \"accountID\"", "SCAN album_user"),
    ]

    private static func mayBe(_ step: String, in sql: String) -> Bool {
        exceptions.contains { step.hasPrefix($0.step) && ($0.part.isEmpty || sql.contains($0.part)) }
    }

    /// The statements of all triggers, with a text where they have a value of the row.
    private func triggerStatements(_ database: any SQLDatabase) async throws -> [String] {
        try await database.read { db in
            var bodies: [String] = []
            try db.query("SELECT sql FROM sqlite_schema WHERE type = 'trigger'", []) { row in
                bodies.append(try row.text(0) ?? "")
                return true
            }
            #expect(bodies.count > 30)
            return bodies.flatMap { text -> [String] in
                guard let begin = text.range(of: "\nBEGIN\n"), let end = text.range(of: "END", options: .backwards)
                else {
                    Issue.record("\(text)")
                    return []
                }
                return text[begin.upperBound..<end.lowerBound].split(separator: /;\s*(\n|$)/)
                    .map { String($0).replacing(/\b(NEW|OLD)\."?\w+"?/, with: "'x'") }
                    .filter { !$0.allSatisfy(\.isWhitespace) && !$0.contains("RAISE(") }
            }
        }
    }
}

/// Notes the statements that a database runs. Owner of the notes: the mutex.
private final class StatementRecorder: SQLDatabase {
    private let base: any SQLDatabase
    private let seen = Mutex<Set<String>>([])

    init(_ base: any SQLDatabase) { self.base = base }

    var dialect: SQLDialect { base.dialect }
    var statements: [String] { seen.withLock { $0.sorted() } }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await base.read { [self] db in try body(Connection(base: db, recorder: self)) }
    }

    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await base.write { [self] db in try body(Connection(base: db, recorder: self)) }
    }

    func close() async { await base.close() }

    private struct Connection: SQLConnection {
        let base: any SQLConnection
        let recorder: StatementRecorder

        var dialect: SQLDialect { base.dialect }

        @discardableResult func execute(_ sql: String, _ arguments: [SQLValue]) throws -> Int {
            recorder.note(sql)
            return try base.execute(sql, arguments)
        }

        func query(_ sql: String, _ arguments: [SQLValue], _ row: (any SQLRow) throws -> Bool) throws {
            recorder.note(sql)
            try base.query(sql, arguments, row)
        }

        func run(script: String) throws { try base.run(script: script) }

        func savepoint<Value>(_ body: () throws -> Value) throws -> Value { try base.savepoint(body) }
    }

    private func note(_ sql: String) { seen.withLock { _ = $0.insert(sql) } }
}
