import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// A clock that a test advances.
final class ManualClock: Sendable {
    private let offset = Mutex<TimeInterval>(0)

    /// The number of seconds that the clock was advanced.
    var passed: TimeInterval { offset.withLock { $0 } }

    func advance(days: Double) { offset.withLock { $0 += days * 86_400 } }

    var options: SyncServiceOptions {
        var options = SyncServiceOptions()
        // Tests advance the clock by years.
        options.sessionIdleTime = nil
        options.now = { [self] in Date(timeIntervalSinceNow: offset.withLock { $0 }) }
        return options
    }
}

@Suite("Resets and retention", .timeLimit(.minutes(10)))
struct RetentionTests {
    /// Runs a body with a device that has three recipes and a step of the first one.
    private func run(_ body: (TestServer, TestDevice, ManualClock) async throws -> Void) async throws {
        let clock = ManualClock()
        try await TestServer.run(options: clock.options) { server in
            let device = try await server.device()
            for number in 1...3 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            try await device.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            try await device.sync()
            try await body(server, device, clock)
        }
    }

    private func reasons(_ lines: [String]) -> [String] {
        lines.filter { $0.contains("SyncResetV1") }.compactMap { line in
            line.range(of: "\"reason\":\"").map { String(line[$0.upperBound...].prefix { $0 != "\"" }) }
        }
    }

    @Test("A requested reset is repeated until its ack, and then all rows are sent again")
    func requested() async throws {
        try await run { server, device, clock in
            let first = try await device.lines(resets: true)
            #expect(first.count == 1 && reasons(first) == ["requested"])
            // The line was lost, so the server sends it again without a request.
            let second = try await device.delivery()
            #expect(second.controls == ["SyncResetV1"] && second.items == [])
            try await device.acknowledge(second.tokens)
            let third = try await device.delivery()
            #expect(third.items.count == 4 && third.tokens.allSatisfy { $0.epoch == 2 })
            try await device.acknowledge(third.tokens)
            #expect(try await device.sync() == [])
        }
    }

    @Test("An operator can reset a single session")
    func byOperator() async throws {
        try await run { server, device, clock in
            let other = try await server.device()
            try await other.sync()
            let id = try #require(try await server.service.sessions().first).id
            #expect(try await server.service.resetSession(id))
            #expect(try await !server.service.resetSession("nobody"))
            let lines = try await device.delivery()
            #expect(lines.controls == ["SyncResetV1"])
            try await device.acknowledge(lines.tokens)
            #expect(try await device.sync().count == 4)
            #expect(try await other.sync() == [])
        }
    }

    @Test("A checkpoint older than the pruned deletions resets its types")
    func forgotten() async throws {
        try await run { server, device, clock in
            let present = try await server.device()
            let bob = try await server.device(of: "bob")
            try await bob.put("RecipeV2", key: "b1", values: ["title": .text("Stew")])
            try await bob.sync()
            try await device.push(.delete, type: "RecipeV2", key: "r2")
            try await present.sync()
            clock.advance(days: 365)
            #expect(try await server.service.prune() == 1)
            for other in [present, bob] { #expect(try await other.sync() == []) }
            let lines = try await device.lines()
            #expect(reasons(lines) == Array(repeating: "retention", count: 4))
            #expect(lines.filter { $0.contains("\"type\":\"RecipeV2\"") }.count == 2)
            #expect(lines.filter { $0.contains("isFull") }.count == 4)
            // The reset is repeated until part of it is acknowledged.
            #expect(reasons(try await device.lines()).count == 4)
            #expect(try await device.sync().count == 3)
            #expect(try await device.lines().count == 1)
        }
    }

    @Test("A full resync that is cut resumes after earlier pruning")
    func resumed() async throws {
        try await run { server, device, clock in
            try await device.push(.delete, type: "RecipeV2", key: "r2")
            clock.advance(days: 100)
            try await server.service.prune()
            let late = try await server.device()
            for expected in [["Recipe r1", "Recipe r3", "Step s1"], ["Recipe r3", "Step s1"]] {
                let delivery = try await late.delivery()
                #expect(delivery.items == expected)
                try await late.acknowledge(
                    delivery.tokens.filter { $0.place.type.name == "Recipe" }.prefix(1).map(\.self))
            }
        }
    }

    @Test("An ack from before a reset of one type is ignored")
    func late() async throws {
        try await run { server, device, clock in
            try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Stew")])
            let before = try await device.delivery()
            try await device.push(.delete, type: "RecipeV2", key: "r2")
            clock.advance(days: 100)
            try await server.service.prune()
            #expect(reasons(try await device.lines()).count == 4)
            try await device.acknowledge(before.tokens)
            #expect(reasons(try await device.lines()).count == 4)
        }
    }

    @Test("A stream during which deletions are pruned ends without claiming completeness")
    func meanwhile() async throws {
        try await run { server, device, clock in
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO recipe (id, title, scopeID)
                SELECT 'n' || i, '\(String(repeating: "x", count: 200))', scopeID FROM n, recipe WHERE id = 'r1'
                """,
                "DELETE FROM recipe WHERE id IN ('r2', 'n3000')")
            let request = try WireFormat.encode(SyncStreamRequest(types: TestServer.types.map { [$0] }))
            let reply = await server.service.stream(request, token: device.token)
            guard case .stream(let stream) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            var pieces = stream.makeAsyncIterator()
            _ = try await pieces.next()
            clock.advance(days: 100)
            try await server.service.prune()
            var rest = ""
            while let piece = try await pieces.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(rest.contains("out_of_step") && !rest.contains("SyncCompleteV1"))
            #expect(reasons(try await device.lines()).count == 4)
        }
    }

    @Test("Pruning reads each deletion a few times, whatever the number of scopes")
    func cost() async throws {
        try await TestServer.watched { server, database in
            try await server.execute(
                """
                INSERT INTO sync_scope (id)
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
                SELECT 'account/' || i FROM n
                """,
                """
                INSERT INTO sync_tombstone (scopeID, tableName, key, updateID)
                SELECT id, 'recipe', 'r', '' FROM sync_scope
                """)
            try await server.execute(
                "UPDATE sync_tombstone SET updateID = '01000000-0000-7000-8000-000000000000' WHERE key = 'r'")
            database.clear()
            #expect(try await server.service.prune() == 2_500)
            #expect(database.statements.count < 20, "\(database.statements.count)")
            #expect(database.rows <= 5_000)
            #expect(try await server.count("sync_tombstone") == 0)
            let pruned = "prunedThrough = '01000000-0000-7000-8000-000000000000'"
            #expect(try await server.count("sync_scope", where: pruned) == 2_500)
        }
    }

    @Test("Pruning removes the deletions of a large scope in several transactions")
    func largeScope() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            try await device.sync()
            try await server.execute(
                """
                INSERT INTO sync_tombstone (scopeID, tableName, key, updateID)
                WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
                SELECT '\(scope)', CASE WHEN i < 3500 THEN 'recipe' ELSE 'step' END, 'r' || i, '' FROM n
                """,
                """
                UPDATE sync_tombstone SET updateID = '01000000-' || substr(key, 2) || '-7000-8000-000000000000'
                """)
            database.clear()
            #expect(try await server.service.prune() == 5_000)
            #expect(database.transactions >= 6, "\(database.transactions)")
            #expect(try await server.count("sync_tombstone") == 0)
            let pruned = "prunedThrough = '01000000-5999-7000-8000-000000000000'"
            #expect(try await server.count("sync_scope", where: pruned) == 1)
        }
    }

    @Test("Pruning removes expired sessions in several transactions")
    func expiredSessions() async throws {
        try await TestServer.watched { server, database in
            _ = try await server.device()
            let account = try await server.id("ann")
            try await server.execute(
                """
                INSERT INTO sync_session (id, accountID, tokenHash, historyID, expiresAt)
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
                SELECT 's' || i, '\(account)', 't' || i, 'h', 1 FROM n
                """)
            database.clear()
            #expect(try await server.service.prune() == 0)
            #expect(database.statements.count { $0.hasPrefix("DELETE FROM sync_session") } == 3)
            #expect(try await server.count("sync_session") == 1)
        }
    }

    @Test("Pruning removes old deletions of all tables and scopes and keeps recent ones")
    func young() async throws {
        let clock = ManualClock()
        try await TestServer.run(schema: SharingServer.schema, options: clock.options) { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for key in ["a1", "a2"] { try await ann.file(key) }
            try await ann.album("x")
            try await ann.link("x", file: "a1")
            try await ann.share("x", other: bob)
            try await ann.letRead(bob)
            try await ann.device.put("NoteV1", key: "n", values: [:])
            try await bob.sync()
            for (type, key) in [("AlbumFileV1", "x-a1"), ("PartnerV1", "ann-bob"), ("NoteV1", "n"), ("FileV1", "a2")] {
                #expect(try await ann.delete(type, key: key).isApplied)
            }
            #expect(try await server.service.prune() == 0)
            clock.advance(days: 89)
            #expect(try await server.service.prune() == 0)
            clock.advance(days: 2)
            // Four tombstones of Ann's account, and a link and a file of the album.
            #expect(try await server.service.prune() == 6)
            #expect(try await server.count("sync_tombstone") == 0)
            #expect(try await server.count("sync_member") == 2)
            #expect(try await bob.sync().contains("reset retention"))
            #expect(bob.has("album/x") == ["Album x", "AlbumUser x-bob"])
        }
    }

    @Test("A restored server resets all devices and accepts their next numbers")
    func restored() async throws {
        try await run { server, device, clock in
            try await server.service.restored()
            // The device is ahead of the restored server.
            device.batch = 40
            device.sequence = 70
            let delivery = try await device.delivery()
            #expect(delivery.controls == ["SyncResetV1"])
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.put("RecipeV2", key: "r9", values: ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.put("RecipeV2", key: "r8", values: ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.sync().count == 6)
            #expect(try await device.sync() == [])
        }
    }

    @Test("An older copy of a device continues after its reset")
    func copy() async throws {
        try await run { server, device, clock in
            for _ in 1...3 { try await device.acknowledge([]) }
            device.batch = 1
            device.sequence = 1
            try await device.acknowledge([])
            let delivery = try await device.delivery()
            #expect(delivery.controls == ["SyncResetV1"])
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.put("RecipeV2", key: "r9", values: ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await device.sync().count == 5)
        }
    }

    @Test("A device still learns after a reset that a scope was withdrawn")
    func lost() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.file("a1")
            try await ann.letRead(bob)
            try await bob.sync()
            let reset = try await bob.device.delivery(types: SharingServer.types, resets: true)
            try await bob.device.acknowledge(reset.tokens)
            try await ann.stopLetting(bob)
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
        }
    }
}
