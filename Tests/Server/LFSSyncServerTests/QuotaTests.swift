import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Quotas of accounts", .timeLimit(.minutes(10)))
struct QuotaTests {
    private func run(
        rows: Int64 = 1_000, rowBytes: Int64 = 1 << 30, fileBytes: Int64 = 1 << 30,
        _ body: (TestServer, TestDevice) async throws -> Void
    ) async throws {
        var options = SyncServiceOptions()
        options.quota.rows = rows
        options.quota.rowBytes = rowBytes
        options.quota.fileBytes = fileBytes
        try await TestServer.run(options: options) { server in try await body(server, try await server.device()) }
    }

    private func exceeded(_ outcome: SyncMutationResult.Outcome) -> ExceededLimit? {
        guard case .rejected(let failure, _) = outcome, failure.code == .quotaExceeded else { return nil }
        return failure.exceeded
    }

    private func usage(_ server: TestServer, account: String = "ann") async throws -> AccountUsage {
        try #require(try await server.service.accounts(named: account).first).usage
    }

    private func file(_ key: String, byteCount: Int64) -> [String: SyncValue] {
        [
            "byteCount": .integer(byteCount), "sha256": .text("a"), "key": .text("ann/\(key)"),
            "createdAt": .text("2026"), "status": .text("local"),
        ]
    }

    @Test("A row above the limit is refused with the limit, and the others are stored")
    func rows() async throws {
        try await run(rows: 2) { server, device in
            let mutations = try (Int64(1)...4).map { number in
                SyncMutation(
                    id: "m\(number)", sequence: number, type: try #require(SyncType("RecipeV2")), operation: .put,
                    key: "r\(number)", row: SyncRow(["title": .text("Soup")]))
            }
            let results = try await device.send(mutations)
            #expect(results.map(\.outcome.isApplied) == [true, true, false, false])
            let limit = ExceededLimit(name: "rows", value: 2)
            #expect(exceeded(results[2].outcome) == limit && exceeded(results[3].outcome) == limit)
            // The repeated answer names the limit too.
            let again = try await device.send(mutations)
            #expect(again.map { exceeded($0.outcome) } == [nil, nil, limit, limit])
            #expect(try await server.count("recipe") == 2)
            #expect(try await usage(server).rows == 2)
        }
    }

    @Test("A deletion makes room, and a full account may still change and delete rows")
    func room() async throws {
        try await run(rows: 2) { server, device in
            for number in 1...3 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            #expect(
                try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text("Broth")]).outcome
                    .isApplied)
            #expect(try await device.push(.delete, type: "RecipeV2", key: "r1").outcome.isApplied)
            #expect(try await device.put("RecipeV2", key: "r3", values: ["title": .text("Soup")]).outcome.isApplied)
            #expect(try await server.text("SELECT id FROM recipe ORDER BY id DESC") == "r3")
            #expect(try await usage(server).rows == 2)
        }
    }

    @Test("Rows of 1 MB are stopped at the limit of bytes")
    func megabytes() async throws {
        try await run(rowBytes: 5 << 20) { server, device in
            var outcomes: [SyncMutationResult.Outcome] = []
            for number in 1...8 {
                let image = SyncValue.blob(Array(repeating: 7, count: 500_000))
                outcomes.append(
                    try await device.put(
                        "RecipeV2", key: "a\(number)", values: ["title": .text("x"), "image": image]
                    ).outcome)
                outcomes.append(
                    try await device.put(
                        "RecipeV2", key: "b\(number)", values: ["title": .text("x"), "image": image]
                    ).outcome)
            }
            #expect(outcomes.prefix { $0.isApplied }.count == 10)
            #expect(
                outcomes.dropFirst(10).allSatisfy { exceeded($0) == ExceededLimit(name: "row_bytes", value: 5 << 20) })
            #expect(try await usage(server).rowBytes <= 5 << 20)
        }
    }

    @Test("Above a lowered limit, a change that makes no row larger is accepted")
    func lowered() async throws {
        try await run { server, device in
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("long title")])
            #expect(try await server.service.setLimit(.rowBytes, to: 10, account: "ann"))
            let change = { (title: String) in
                try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["title": .text(title)]).outcome
            }
            #expect(exceeded(try await change("an even longer title")) == ExceededLimit(name: "row_bytes", value: 10))
            #expect(try await change("other title").isApplied == false)
            #expect(try await change("long tital").isApplied)
            #expect(try await change("short").isApplied)
            #expect(try await server.service.setLimit(.rowBytes, to: nil, account: "ann"))
            #expect(try await change("an even longer title").isApplied)
        }
    }

    @Test("Declared bytes of files count, also if the number is negative or huge")
    func files() async throws {
        try await run(fileBytes: 100) { server, device in
            #expect(try await device.put("FileV1", key: "f1", values: file("1", byteCount: 60)).outcome.isApplied)
            let refused = try await device.put("FileV1", key: "f2", values: file("2", byteCount: 60)).outcome
            #expect(exceeded(refused) == ExceededLimit(name: "file_bytes", value: 100))
            for (key, count) in [("f3", Int64.max), ("f4", 1 << 53)] {
                let outcome = try await device.put("FileV1", key: key, values: file(key, byteCount: count)).outcome
                #expect(exceeded(outcome) != nil)
            }
            #expect(try await device.put("FileV1", key: "f5", values: file("5", byteCount: .min)).outcome.isApplied)
            #expect(try await usage(server).fileBytes == 60)
            #expect(try await device.put("FileV1", key: "f6", values: file("6", byteCount: 40)).outcome.isApplied)
            #expect(try await device.push(.delete, type: "FileV1", key: "f1").outcome.isApplied)
            #expect(try await usage(server).fileBytes == 40)
        }
    }

    @Test(
        "A file whose size is not a whole number is refused",
        arguments: [SyncValue.real(1e12), .text("1000000000000")])
    func converted(byteCount: SyncValue) async throws {
        try await run(fileBytes: 100) { server, device in
            let values = file("1", byteCount: 1).merging(["byteCount": byteCount]) { $1 }
            let result = try await device.put("FileV1", key: "f1", values: values)
            #expect(result.outcome.code == "invalid_request")
            #expect(try await server.count("lfs_file") == 0)
            #expect(try await usage(server).fileBytes == 0)
        }
    }

    @Test("A namespace above the limit is refused, and files of known ones are stored")
    func namespaces() async throws {
        try await run { server, device in
            #expect(try await device.put("FileV1", key: "f1", values: file("1", byteCount: 1)).outcome.isApplied)
            let ann = try await server.id("ann")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
                INSERT INTO sync_namespace (namespace, accountID) SELECT 'n' || i, '\(ann)' FROM n
                """)
            let new = file("2", byteCount: 1).merging(["key": .text("new/2")]) { $1 }
            let refused = try await device.put("FileV1", key: "f2", values: new).outcome
            #expect(exceeded(refused) == ExceededLimit(name: "namespaces", value: 1_000))
            #expect(try await server.count("sync_namespace") == 1_000)
            #expect(try await device.put("FileV1", key: "f3", values: file("3", byteCount: 1)).outcome.isApplied)
            // Another account has its own namespaces.
            let bob = try await server.device(of: "bob")
            #expect(try await bob.put("FileV1", key: "f4", values: new).outcome.isApplied)
            // A larger quota of rows permits more of them.
            #expect(try await server.service.setLimit(.rows, to: 2_000_000, account: "ann"))
            let next = file("5", byteCount: 1).merging(["key": .text("next/5")]) { $1 }
            #expect(try await device.put("FileV1", key: "f5", values: next).outcome.isApplied)
        }
    }

    @Test("The limits of one account do not change those of another one")
    func others() async throws {
        try await run(rows: 1) { server, device in
            let bob = try await server.device(of: "bob")
            #expect(try await server.service.setLimit(.rows, to: 2, account: "bob"))
            #expect(try await !server.service.setLimit(.rows, to: 2, account: "carl"))
            for (device, name) in [(device, "ann"), (bob, "bob")] {
                var outcomes: [Bool] = []
                for number in 1...3 {
                    outcomes.append(
                        try await device.put("RecipeV2", key: "\(name)\(number)", values: ["title": .text("x")]).outcome
                            .isApplied)
                }
                #expect(outcomes == (name == "ann" ? [true, false, false] : [true, true, false]))
            }
            #expect(try await server.service.accounts().map { $0.limits[.rows] } == [nil, 2])
        }
    }

    @Test("An account's own limit of sessions replaces that of the server")
    func sessions() async throws {
        try await run { server, _ in
            #expect(try await server.service.setLimit(.sessions, to: 2, account: "ann"))
            _ = try await server.device()
            let error = await #expect(throws: SyncSessionError.self) { try await server.device() }
            #expect(error?.message.contains("the limit is 2") == true)
            #expect(try await server.service.setLimit(.sessions, to: nil, account: "ann"))
            _ = try await server.device()
        }
    }

    @Test("A link in the album of another account counts for the owner of the album")
    func shared() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await ann.share("x", other: bob, role: "editor")
            try await bob.file("f1")
            let rows = try await usage(server).rows
            #expect(try await server.service.setLimit(.rows, to: rows, account: "ann"))
            #expect(exceeded(try await bob.link("x", file: "f1")) == ExceededLimit(name: "rows", value: rows))
            #expect(try await server.service.setLimit(.rows, to: rows + 1, account: "ann"))
            #expect(try await bob.link("x", file: "f1").isApplied)
            #expect(try await usage(server).rows == rows + 1)
            #expect(try await usage(server, account: "bob").rows == 1)
        }
    }

    @Test("Counters follow every kind of change, and a recount finds them right")
    func counters() async throws {
        try await run { server, device in
            let ann = try await server.scope(of: "ann")
            _ = try await server.device(of: "bob")
            let bob = try await server.scope(of: "bob")
            try await device.put("FileV1", key: "f1", values: file("1", byteCount: 1_000))
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Süppe"), "photoID": .text("f1")])
            for number in 1...3 {
                try await device.put("StepV1", key: "s\(number)", values: ["recipeID": .text("r1"), "text": .null])
            }
            // The columns of a recipe are two numbers, a title of six bytes, and an id of a reference.
            #expect(
                try await server.count("sync_scope", where: "id = '\(ann)' AND rowCount = 5 AND fileBytes = 1000") == 1)
            #expect(try await server.service.recount() == 0)
            try await server.execute(
                "UPDATE recipe SET title = 'Soup', image = NULL WHERE id = 'r1'",
                "UPDATE step SET scopeID = '\(bob)' WHERE id = 's1'", "UPDATE step SET id = 'step2' WHERE id = 's2'",
                "UPDATE lfs_file SET scopeID = '\(bob)'")
            #expect(try await usage(server).rows == 3)
            #expect(try await usage(server, account: "bob").fileBytes == 1_000)
            #expect(try await server.service.recount() == 0)
            // The steps are deleted with their recipe.
            #expect(try await device.push(.delete, type: "RecipeV2", key: "r1").outcome.isApplied)
            #expect(try await usage(server) == AccountUsage())
            #expect(try await usage(server, account: "bob").rows == 1)
            #expect(try await server.service.recount() == 0)
            try await server.execute("UPDATE sync_scope SET rowCount = 77 WHERE id = '\(ann)'")
            #expect(try await server.service.recount(account: "bob") == 0)
            #expect(try await server.service.recount() == 1)
            #expect(try await usage(server) == AccountUsage())
        }
    }

    @Test("The bytes of a row are its id, texts and blobs, and eight for each number")
    func byteCount() async throws {
        try await run { server, device in
            try await device.put(
                "RecipeV2", key: "r1", values: ["title": .text("Süppe"), "image": .blob([1, 2, 3]), "servings": .null])
            #expect(try await usage(server).rowBytes == 2 + 6 + 3 + 2 * 8)
        }
    }

    @Test("The list of accounts shows the sessions and the last contact of each")
    func list() async throws {
        let clock = ManualClock()
        try await TestServer.run(options: clock.options) { server in
            let device = try await server.device()
            _ = try await server.device()
            _ = try await server.device(of: "bob")
            clock.advance(days: 2)
            try await device.sync()
            let accounts = try await server.service.accounts()
            #expect(accounts.map(\.name) == ["ann", "bob"] && accounts.map(\.sessionCount) == [2, 1])
            let contacts = accounts.compactMap(\.lastContactAt)
            #expect(contacts[0].timeIntervalSince(contacts[1]) > 86_400)
            let bob = try #require(try await server.service.sessions(account: "bob").first)
            #expect(try await server.service.removeSession(bob.id))
            #expect(try await server.service.accounts(named: "bob").first?.lastContactAt == nil)
            #expect(try await server.service.accounts(named: "carl") == [])
        }
    }
}
