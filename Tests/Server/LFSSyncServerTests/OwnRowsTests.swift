import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Own rows of an account", .timeLimit(.minutes(10)))
struct OwnRowsTests {
    @Test("The first row arrives with all columns of its version")
    func first() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let result = try await one.put(
                "RecipeV2", key: "r1", values: ["title": .text("Soup"), "servings": .integer(4)])
            let delivery = try await two.delivery()
            #expect(delivery.items == ["Recipe r1"] && delivery.controls == ["SyncCompleteV1"])
            let row = try #require(delivery.rows.first)
            #expect(row["title"] == .text("Soup") && row["servings"] == .integer(4) && row["rating"] == .null)
            #expect(Set(row.values.keys) == ["id", "title", "servings", "rating", "image", "photoID", "note"])
            #expect(result.outcome == .applied(delivery.tokens.first?.position))
        }
    }

    @Test(
        "Each value of a row arrives unchanged",
        arguments: [
            ("servings", SyncValue.integer(.max)), ("servings", .integer(.min)), ("servings", .null),
            ("rating", .real(0.1 + 0.2)), ("rating", .real(1e308)), ("rating", .real(-.infinity)),
            ("rating", .real(.leastNonzeroMagnitude)), ("rating", .real(3)), ("image", .blob([0, 1, 255])),
            ("image", .blob([])),
            ("image", .null), ("rating", .null), ("note", .null), ("note", .text("")),
            // The forms in which apps store a Boolean, a date and an object.
            ("servings", .integer(0)), ("servings", .integer(1)), ("note", .text("2026-01-02 03:04:05.678")),
            ("note", .text(#"{"a":[1,null,"b"]}"#)),
        ])
    func values(_ column: String, value: SyncValue) async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup"), column: value])
            #expect(try await two.delivery().rows.first?[column] == value)
        }
    }

    @Test(
        "Rows of an older version get the default of a column that is never NULL",
        arguments: [
            (SyncSchema.Column.Kind.integer, SQLValue.integer(-3)), (.real, .real(0.5)), (.text, .text("it's")),
            (.blob, .blob([0, 255])),
        ])
    func defaults(_ kind: SyncSchema.Column.Kind, value: SQLValue) async throws {
        let schema = SyncSchema(tables: [
            .init(
                "recipe",
                columns: [
                    .init("title", kind: .text),
                    .init("extra", kind: kind, isRequired: true, since: 2, defaultValue: value),
                ])
        ])
        try await TestServer.run(schema: schema) { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV1", key: "r1", values: ["title": .text("Soup")])
            try await one.put("RecipeV2", key: "r2", values: ["title": .text("Pie")])
            // A refused change makes the server apply the others one by one.
            let alone = try [("RecipeV1", "r3"), ("RecipeV1", "")].map { type, key in
                one.sequence += 1
                return SyncMutation(
                    id: "m\(one.sequence)", sequence: one.sequence, type: try #require(SyncType(type)),
                    operation: key.isEmpty ? .patch : .put, key: key.isEmpty ? "nothing" : key,
                    row: SyncRow(["title": .text("Tart")]))
            }
            #expect(try await one.send(alone).map(\.outcome.isApplied) == [true, false])
            let rows = try await two.delivery(types: [try #require(SyncType("RecipeV2"))]).rows
            #expect(rows.map { $0.text("id") } == ["r1", "r2", "r3"])
            #expect(rows.allSatisfy { $0["extra"].map(SQLValue.init) == value })
            let older = try await two.delivery(types: [try #require(SyncType("RecipeV1"))]).rows
            #expect(older.allSatisfy { $0["extra"] == nil })
        }
    }

    @Test("Successive changes arrive as the current row in one line")
    func updates() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            #expect(try await two.sync() == ["Recipe r1"])
            try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Stew")])
            try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["servings": .integer(2)])
            let delivery = try await two.delivery()
            #expect(delivery.items == ["Recipe r1"])
            #expect(delivery.rows.first?["title"] == .text("Stew") && delivery.rows.first?["servings"] == .integer(2))
        }
    }

    @Test("An update to the same values sends nothing")
    func same() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await two.sync()
            try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await server.execute("UPDATE recipe SET title = title")
            #expect(try await two.sync() == [])
        }
    }

    @Test("A row inserted and updated before a sync arrives once")
    func together() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let type = try #require(SyncType("RecipeV2"))
            let mutations = (1...50).map { number in
                SyncMutation(
                    id: "m\(number)", sequence: Int64(number), type: type, operation: .put, key: "r\(number)",
                    row: SyncRow(["title": .text("\(number)")]))
            }
            #expect(try await one.send(mutations).count == 50)
            one.sequence = 50
            try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Stew")])
            #expect(try await two.sync() == (2...50).map { "Recipe r\($0)" } + ["Recipe r1"])
        }
    }

    @Test("All 10,000 rows of one statement arrive with ascending positions")
    func many() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
                INSERT INTO recipe (id, title, scopeID) SELECT 'r' || i, 'Soup', '\(scope)' FROM n
                """)
            let delivery = try await device.delivery()
            #expect(delivery.items == (1...10_000).map { "Recipe r\($0)" })
            let positions = delivery.tokens.filter { $0.place.type.name == "Recipe" }.map(\.position)
            #expect(positions.count == 10_001 && zip(positions, positions.dropFirst()).allSatisfy { $0 <= $1 })
            #expect(Set(positions).count == 10_000)
            try await device.acknowledge(delivery.tokens)
            try await server.execute("UPDATE recipe SET title = 'Stew' WHERE CAST(substr(id, 2) AS INTEGER) <= 5000")
            #expect(try await device.sync().count == 5_000)
            #expect(try await device.sync() == [])
        }
    }

    @Test("Rows of another account never arrive")
    func others() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await ann.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await bob.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            #expect(try await bob.sync() == ["Recipe r2"])
            #expect(try await ann.sync() == ["Recipe r1"])
        }
    }

    @Test("Devices of one account receive the same rows, whenever they join")
    func devices() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            for number in 1...3 { try await one.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")]) }
            let items = try await one.sync()
            #expect(try await two.sync() == items)
            #expect(try await server.device().sync() == items && items.count == 3)
        }
    }

    @Test("Only requested types arrive, and a type requested later arrives whole")
    func types() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            let steps = try #require(SyncType("StepV1"))
            #expect(try await device.sync(types: [steps]) == ["Step s1"])
            #expect(try await device.sync() == ["Recipe r1"])
        }
    }

    @Test("Versions of a type have separate checkpoints, and the best known one is sent")
    func versions() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup"), "note": .text("hot")])
            let (old, new) = (try #require(SyncType("RecipeV1")), try #require(SyncType("RecipeV2")))
            let delivery = try await device.delivery(types: [old])
            #expect(delivery.rows.first?["note"] == nil && delivery.rows.first?["title"] == .text("Soup"))
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.delivery(types: [new]).rows.first?["note"] == .text("hot"))
            let newer = SyncStreamRequest(types: [["RecipeV3", "RecipeV2", "RecipeV1"].compactMap { SyncType($0) }])
            let reply = await device.service.stream(try WireFormat.encode(newer), token: device.token)
            #expect(
                String(decoding: try await TestDevice.bytes(reply), as: UTF8.self).contains("\"type\":\"RecipeV2\""))
        }
    }

    @Test("Parents precede children, and a moved child arrives with its new parent")
    func children() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await one.put("StepV1", key: "s1", values: ["recipeID": .text("r1")])
            try await one.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            #expect(try await two.sync() == ["Recipe r1", "Recipe r2", "Step s1"])
            try await one.push(.patch, type: "StepV1", key: "s1", values: ["recipeID": .text("r2")])
            #expect(try await two.delivery().rows.first?["recipeID"] == .text("r2"))
        }
    }

    @Test("A row that moves to another account or id is deleted at its old place")
    func moves() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await ann.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await ann.sync()
            try await server.execute("UPDATE recipe SET scopeID = '\(server.scope(of: "bob"))' WHERE id = 'r1'")
            #expect(try await ann.sync() == ["-Recipe r1"])
            #expect(try await bob.sync() == ["Recipe r1"])
            try await server.execute("UPDATE recipe SET id = 'r9' WHERE id = 'r1'")
            #expect(try await Set(bob.sync()) == ["Recipe r9", "-Recipe r1"])
        }
    }

    @Test(
        "Any text of a row arrives unchanged",
        arguments: ["Æ 💐 e\u{301}", "\"q\" \\ /", "a\nb\r\n\tc", "\u{2028}\u{7F}\u{1}"])
    func texts(_ text: String) async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text(text)])
            #expect(try await two.delivery().rows.first?["title"] == .text(text))
        }
    }

    @Test("A text with a null character is refused with its column")
    func nul() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let result = try await device.put("RecipeV2", key: "r1", values: ["title": .text("a\u{0}b")])
            guard case .rejected(let failure, nil) = result.outcome else {
                Issue.record("\(result)")
                return
            }
            #expect(failure.message.contains("title") && failure.code == .invalidRequest)
        }
    }

    @Test("A row at the size limit is accepted, and a larger one is refused")
    func large() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let text = String(repeating: "x", count: SyncMutation.byteLimit - 2_000)
            #expect(try await one.put("RecipeV2", key: "r1", values: ["title": .text(text)]).outcome.isApplied)
            #expect(try await two.delivery().rows.first?["title"] == .text(text))
            var line: [UInt8] = []
            SyncMutation(
                id: "m2", sequence: 2, type: try #require(SyncType("RecipeV2")), operation: .put, key: "r2",
                row: SyncRow(["title": .text(text + text)])
            ).write(to: &line)
            #expect(await one.service.push(.init(line), token: one.token).status == 413)
            // A request may have this row, but a line of a stream may not.
            let longer = String(repeating: "x", count: SyncMutation.byteLimit - 200)
            #expect(
                try await one.put("RecipeV2", key: "r3", values: ["title": .text(longer)]).outcome.code == "too_large")
        }
    }
}

extension OwnRowsTests {
    @Test("Small changes that make a row longer than a line are refused")
    func largeByParts() async throws {
        try await TestServer.run { server in
            let (one, two) = (try await server.device(), try await server.device())
            let half = String(repeating: "\u{1}", count: 90_000)
            #expect(try await one.put("RecipeV2", key: "r1", values: ["title": .text(half)]).outcome.isApplied)
            let second = try await one.push(.patch, type: "RecipeV2", key: "r1", values: ["note": .text(half)]).outcome
            #expect(second.code == "too_large")
            #expect(try await two.lines().allSatisfy { $0.utf8.count <= LineSplitter.limit })
            #expect(try await two.delivery().rows.first?["title"] == .text(half))
        }
    }

    @Test("Replies with many large rows are split across several requests")
    func largeAnswers() async throws {
        try await TestServer.run { server in
            let one = try await server.device()
            try await one.put("RecipeV2", key: "r1", values: ["title": .text(String(repeating: "x", count: 400_000))])
            let mutations = try (2...20).map { (number: Int64) in
                SyncMutation(
                    id: "m\(number)", sequence: number, type: try #require(SyncType("RecipeV2")), operation: .patch,
                    key: "r1", row: SyncRow(["unknown": .null]))
            }
            var bytes: [UInt8] = []
            for mutation in mutations { mutation.write(to: &bytes) }
            let reply = await one.service.push(Data(bytes), token: one.token)
            #expect(try await TestDevice.bytes(reply).count < 2 << 20)
            var results: [SyncMutationResult] = []
            while results.count < mutations.count {
                let new = try await one.send(Array(mutations.dropFirst(results.count)))
                guard !new.isEmpty else { break }
                results += new
            }
            #expect(results.map(\.sequence) == mutations.map(\.sequence))
            #expect(results.allSatisfy { $0.outcome.code == "unknown_column" })
        }
    }
}

extension SyncMutationResult.Outcome {
    var isApplied: Bool {
        if case .applied = self { return true }
        return false
    }
}
