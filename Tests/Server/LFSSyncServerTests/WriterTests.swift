import Foundation
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

/// Tests of concurrent writers for every database, within its limits on overlapping writers. PostgreSQL has further
/// cases.
@Suite("Writers and the clock of positions", .timeLimit(.minutes(10)))
struct WriterTests {
    private struct Undone: Error {}

    private func recipe(_ id: String, scope: String) -> String {
        "INSERT INTO recipe (id, title, scopeID) VALUES ('\(id)', 'Soup', '\(scope)')"
    }

    @Test("Committed rows of concurrent writers arrive in order despite rollbacks")
    func rollback() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            try await withThrowingTaskGroup { group in
                for number in 1...3 {
                    group.addTask {
                        do {
                            try await server.database.write { db in
                                try db.run(script: self.recipe("r\(number)", scope: scope))
                                if number == 2 { throw Undone() }
                            }
                        } catch is Undone {}
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await Set(device.sync()) == ["Recipe r1", "Recipe r3"])
            try await server.database.write { db in
                try db.run(script: self.recipe("r4", scope: scope))
                #expect(throws: SQLFailure.self) {
                    try db.savepoint {
                        try db.run(script: self.recipe("r5", scope: scope))
                        try db.run(script: self.recipe("r4", scope: scope))
                    }
                }
                try db.run(script: self.recipe("r6", scope: scope))
            }
            #expect(try await device.sync() == ["Recipe r4", "Recipe r6"])
            #expect(try await device.sync() == [])
        }
    }

    @Test("A polling reader receives each row of 64 concurrent writers once")
    func many() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            let isDone = Mutex(false)
            async let written: Void = {
                try await withThrowingTaskGroup { group in
                    for writer in 0..<64 {
                        group.addTask {
                            for part in 0..<4 {
                                try await server.database.write { db in
                                    for number in 0..<40 {
                                        try db.run(script: self.recipe("w\(writer)-\(part)-\(number)", scope: scope))
                                    }
                                }
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                isDone.withLock { $0 = true }
            }()
            var items: [String] = []
            var positions: [SyncPosition] = []
            var isLast = false
            repeat {
                isLast = isDone.withLock { $0 }
                let delivery = try await device.delivery()
                items += delivery.items
                positions += delivery.tokens.filter { $0.place.type.name == "Recipe" }.prefix(delivery.items.count)
                    .map(\.position)
                try await device.acknowledge(delivery.tokens)
            } while !isLast
            try await written
            #expect(items.count == 10_240 && Set(items).count == 10_240)
            #expect(zip(positions, positions.dropFirst()).allSatisfy { $0 < $1 })
        }
    }

    @Test(
        "Positions ascend although the clock goes back or is far ahead",
        arguments: [3_600_000, 31_536_000_000 as Int64])
    func clock(_ milliseconds: Int64) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            var last = SyncPosition.start
            for number in 1...6 {
                if number == 3 { last = try await advance(by: milliseconds, server) }
                for part in 0..<2 {
                    try await device.put("RecipeV2", key: "r\(number)-\(part)", values: ["title": .text("Soup")])
                }
                try await device.push(.delete, type: "RecipeV2", key: "r\(number)-0")
                let delivery = try await device.delivery(types: ["RecipeV2"].compactMap { SyncType($0) })
                #expect(delivery.items.sorted() == ["-Recipe r\(number)-0", "Recipe r\(number)-1"])
                let positions = delivery.tokens.map(\.position).filter { $0 > .start }
                #expect(positions.allSatisfy { $0 > last })
                last = try #require(positions.max())
                try await device.acknowledge(delivery.tokens)
            }
        }
    }

    /// Advances the scopes by a duration, so that the database's own clock is behind by as much.
    ///
    /// - Returns: the last position of the scopes.
    private func advance(by milliseconds: Int64, _ server: TestServer) async throws -> SyncPosition {
        let clock = try #require(try await server.text("SELECT (max(clock) + \(milliseconds)) || '' FROM sync_scope"))
        let digits = String(try #require(Int64(clock)), radix: 16)
        let time = String(repeating: "0", count: 12 - digits.count) + digits
        let head = "\(time.prefix(8))-\(time.suffix(4))-7000-8000-000000000000"
        try await server.execute("UPDATE sync_scope SET clock = \(clock), head = '\(head)'")
        return try #require(SyncPosition(head))
    }

    @Test("An upsert sends inserted and updated rows, and an ignored one sends nothing")
    func upsert() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.sync()
            try await server.execute(
                """
                INSERT INTO recipe (id, title, scopeID) VALUES ('r1', 'Stew', '\(scope)'), ('r2', 'Soup', '\(scope)')
                ON CONFLICT (id) DO UPDATE SET title = excluded.title
                """)
            let delivery = try await device.delivery()
            #expect(delivery.items == ["Recipe r1", "Recipe r2"] && delivery.rows.first?["title"] == .text("Stew"))
            try await device.acknowledge(delivery.tokens)
            try await server.execute("\(recipe("r1", scope: scope)) ON CONFLICT (id) DO NOTHING")
            #expect(try await device.sync() == [])
        }
    }

    @Test("A row added to a file reaches readers of the account and no album member")
    func lateRow() async throws {
        try await SharingServer.run { server in
            let people = [
                try await server.person("ann"), try await server.person("bob"), try await server.person("cat"),
            ]
            let (ann, bob, cat) = (people[0], people[1], people[2])
            try await ann.file("a1")
            try await ann.album("x")
            try await ann.link("x", file: "a1")
            try await ann.share("x", other: bob)
            try await ann.letRead(cat)
            for person in people { try await person.sync() }
            try await ann.device.put("NoteV1", key: "n1", values: ["fileID": .text("a1"), "text": .text("late")])
            #expect(try await ann.sync() == ["Note n1"])
            #expect(try await cat.sync() == ["account/\(ann.id): Note n1"])
            #expect(try await bob.sync() == [])
        }
    }

    @Test("An ack for an unknown type is ignored and not stored")
    func unknownType() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            let delivery = try await device.delivery()
            let token = try #require(delivery.tokens.first { $0.place.type.name == "Recipe" })
            for type in ["WineV1", "RecipeV3", "ScopeV1"] {
                let place = SyncToken.Place(try #require(SyncType(type)), scope: token.place.scope)
                try await device.acknowledge([SyncToken(place, position: token.position, epoch: token.epoch), token])
            }
            let count = "SELECT count(*) || '' FROM sync_checkpoint WHERE typeName NOT IN"
            let names = TestServer.types.map { "'\($0)'" }.joined(separator: ", ")
            #expect(try await server.text("\(count) (\(names))") == "0")
            #expect(try await device.delivery().items == [])
        }
    }

    @Test("A reset of one type repeats only the rows of that type")
    func oneType() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            try await device.sync()
            let id = try #require(try await server.service.sessions().first).id
            let type = try #require(SyncType("RecipeV2"))
            let scope = try #require(SyncScope(try await server.scope(of: "ann")))
            let token = device.token
            try await server.database.write { db in
                let session = try #require(
                    try SessionTable.session(ofToken: token, at: Milliseconds.of(Date()), db))
                #expect(session.id == id)
                let head = try #require(
                    try db.firstText("SELECT head FROM sync_scope WHERE id = ?1", arguments: [.text(scope.description)])
                )
                try CheckpointTable.restart(
                    [(.init(type, scope: scope), try #require(SyncPosition(head)))], reason: .operator, of: session,
                    at: 1, db)
            }
            let delivery = try await device.delivery()
            #expect(delivery.items == ["Recipe r1"] && delivery.controls == ["SyncResetV1", "SyncCompleteV1"])
            let reset = try #require(try await device.lines().first { $0.contains("SyncResetV1") })
            #expect(reset.contains(#""types":["RecipeV2"],"scopes":["\#(scope)"]"#))
            try await device.acknowledge(delivery.tokens)
            try await device.put("StepV1", key: "s2", values: ["recipeID": .text("r1")])
            #expect(try await device.sync() == ["Step s2"])
        }
    }
}
