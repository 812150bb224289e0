import Foundation
import LFSWire
import Testing

@testable import LFSSyncServer

@Suite("Query plans on SQLite", .timeLimit(.minutes(10)))
struct PlanTests {
    @Test("Every statement and trigger uses an index and sorts no rows")
    func plans() async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            var options = SyncServiceOptions()
            options.removalDelay = .zero
            let service = try await SyncService(watched, schema: PeopleTests.schema, options: options)
            let server = TestServer(database: watched, service: service)
            try await server.runEveryStatement()
            // There are enough rows for SQLite to choose a wrong plan if it considers statistics.
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                INSERT INTO note (id, text, scopeID) SELECT 'n' || i, 'x', '\(scope)' FROM n;
                DELETE FROM note WHERE id LIKE 'n1%'
                """)
            try await server.runEveryStatement()
            let statements = Set(watched.statements).sorted() + (try await triggerStatements(database))
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

    // MARK: Plans

    private static func plan(_ sql: String, _ db: any SQLConnection) throws -> [String] {
        var steps: [String] = []
        let arguments = sql.matches(of: /\?(\d+)/).compactMap { Int($0.1) }.max() ?? 0
        do {
            try db.query("EXPLAIN QUERY PLAN \(sql)", arguments: Array(repeating: .text("x"), count: arguments)) {
                row in
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

    /// The plan steps that may be slow, each with a part of its statement.
    private static let exceptions: [(part: String, step: String)] = [
        // The table has one row.
        ("", "SCAN sync_state"),
        // The steps visit as many rows as one container has, or as many as one session has scopes.
        ("INSERT INTO sync_member (scopeID, tableName, key, updateID) SELECT DISTINCT", "USE TEMP B-TREE FOR DISTINCT"),
        ("(SELECT DISTINCT scopeID FROM sync_checkpoint", "SCAN c"),
        ("(SELECT DISTINCT scopeID FROM sync_checkpoint", "USE TEMP B-TREE FOR ORDER BY"),
        // The statements run at the start.
        ("DELETE FROM sync_object", "SCAN sync_object"), ("FROM sqlite_master", "SCAN sqlite_master"),
        // The statements run once a day or when an operator lists the sessions.
        ("DELETE FROM sync_session WHERE expiresAt <= ?1", "SCAN sync_session"),
        ("FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY", "SCAN s"),
        ("FROM sync_session s JOIN sync_account a ON a.id = s.accountID ORDER BY", "USE TEMP B-TREE FOR ORDER BY"),
        // The statement counts the rows of one account, with one row for each table.
        ("UPDATE sync_scope SET (rowCount", "SCAN c"),
        // The statements run when an account is removed.
        ("DELETE FROM \"partner\" WHERE \"sharedWithID\"", "SCAN partner"),
        ("DELETE FROM \"album_user\" WHERE \"accountID\"", "SCAN album_user"),
    ]

    private static func mayBe(_ step: String, in sql: String) -> Bool {
        exceptions.contains { step.hasPrefix($0.step) && ($0.part.isEmpty || sql.contains($0.part)) }
    }

    /// Returns the statements of all triggers, with a text in place of each value of the row.
    private func triggerStatements(_ database: any SQLDatabase) async throws -> [String] {
        try await database.read { db in
            var bodies: [String] = []
            try db.query("SELECT sql FROM sqlite_schema WHERE type = 'trigger'", arguments: []) { row in
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
