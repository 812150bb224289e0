import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Deletions that take too long", .timeLimit(.minutes(10)))
struct SlowDeletionTests {
    private static func make(_ count: Int, insert: String) -> String {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count)) \(insert) FROM n"
    }

    /// Makes every statement time out that deletes a row of a table.
    private func stop(_ table: String, in database: WatchedDatabase) {
        database.fail(
            "DELETE FROM \(TableSQL.quoted(table)) ", failure: SQLFailure(.timeout, message: "It takes too long."))
    }

    private func deletion(of key: String, type: String, by device: TestDevice) throws -> Data {
        var bytes: [UInt8] = []
        SyncMutation(
            id: "d", sequence: device.sequence + 1, type: try #require(SyncType(type)), operation: .delete, key: key,
            row: SyncRow([:])
        ).write(to: &bytes)
        return Data(bytes)
    }

    private func server(
        schema: SyncSchema = TestServer.schema, _ body: (TestServer, WatchedDatabase, TestDevice) async throws -> Void
    ) async throws {
        try await TestServer.watched(schema: schema) { server, database in
            try await body(server, database, try await server.device())
        }
    }

    @Test("The rows below the row are removed in steps, also those of another account")
    func steps() async throws {
        try await server { server, database, ann in
            let bob = try await server.device(of: "bob")
            let scope = try await server.scope(of: "bob")
            try await ann.put("RecipeV2", key: "r", values: ["title": .text("Soup")])
            try await ann.put("RecipeV2", key: "other", values: ["title": .text("Stew")])
            let steps = "INSERT INTO step (id, \"recipeID\", scopeID) SELECT"
            let comments = "INSERT INTO comment (id, \"stepID\", scopeID) SELECT"
            try await server.execute(
                Self.make(1_200, insert: "\(steps) 's' || i, 'r', '\(scope)'"),
                Self.make(3, insert: "\(steps) 'o' || i, 'other', '\(scope)'"),
                Self.make(
                    700, insert: "\(comments) 'c' || i, 's' || (i % 7 + 1), '\(scope)'")
            )
            try await bob.sync()
            stop("recipe", in: database)
            database.clear()
            let push = try deletion(of: "r", type: "RecipeV2", by: ann)
            let reply = await server.service.push(push, token: ann.token)
            // The row itself is still too slow, so the next attempt has to wait.
            #expect(reply.status == 503 && reply.headers["retry-after"] == "60", "\(reply)")
            #expect(database.transactions >= 5, "1,900 rows in steps of 500")
            #expect(try await server.count("recipe") == 2)
            #expect(try await server.count("step") == 3)
            #expect(try await server.count("comment") == 0)
            database.fail("", failure: nil)
            #expect(await server.service.push(push, token: ann.token).status == 200)
            #expect(try await server.text("SELECT id FROM recipe") == "other")
            let deleted = try await bob.delivery().items
            #expect(Set(deleted).count == 1_900 && deleted.allSatisfy { $0.hasPrefix("-") })
        }
    }

    @Test("Rows that only lose their reference are detached in steps")
    func detached() async throws {
        try await server { server, database, ann in
            let scope = try await server.scope(of: "ann")
            try await server.execute(
                """
                INSERT INTO lfs_file (id, "byteCount", sha256, key, "createdAt", status, scopeID)
                VALUES ('f', 1, 'a', 'k', '2026', 'remote', '\(scope)')
                """,
                Self.make(
                    1_100,
                    insert: "INSERT INTO recipe (id, title, \"photoID\", scopeID) SELECT 'r' || i, 'x', 'f', '\(scope)'"
                ))
            stop("lfs_file", in: database)
            let push = try deletion(of: "f", type: "FileV1", by: ann)
            #expect(await server.service.push(push, token: ann.token).status == 503)
            #expect(try await server.count("recipe", where: "\"photoID\" IS NULL") == 1_100)
            database.fail("", failure: nil)
            #expect(await server.service.push(push, token: ann.token).status == 200)
            #expect(try await server.count("lfs_file") == 0)
            #expect(try await server.count("recipe") == 1_100)
        }
    }

    @Test("Nothing is removed if another row may forbid the deletion")
    func blocked() async throws {
        let schema = SyncSchema(tables: [
            .init("recipe", columns: [.init("title", kind: .text)]),
            .init("step", columns: [.init("recipeID", kind: .text, parent: .init("recipe", onDelete: .cascade))]),
            .init("award", columns: [.init("stepID", kind: .text, parent: .init("step", onDelete: .noAction))]),
        ])
        try await server(schema: schema) { server, database, ann in
            try await ann.put("RecipeV1", key: "r", values: [:])
            for number in 1...3 { try await ann.put("StepV1", key: "s\(number)", values: ["recipeID": .text("r")]) }
            try await ann.put("AwardV1", key: "a", values: ["stepID": .text("s3")])
            stop("recipe", in: database)
            let push = try deletion(of: "r", type: "RecipeV1", by: ann)
            let reply = await server.service.push(push, token: ann.token)
            #expect(reply.status == 503 && reply.headers["retry-after"] == "60", "\(reply)")
            #expect(try await server.count("step") == 3)
        }
    }

    private static let folder = SyncSchema.Table(
        "folder", columns: [.init("parentID", kind: .text, parent: .init("folder", onDelete: .cascade))])

    @Test("A circle of rows and a deep tree are removed")
    func tree() async throws {
        try await server(schema: SyncSchema(tables: [Self.folder])) { server, _, ann in
            let scope = try await server.scope(of: "ann")
            let insert = "INSERT INTO folder (id, \"parentID\", scopeID) SELECT"
            // A chain of 2,300 folders below 'f0', which refers to the fifth of them, and many folders below the third.
            try await server.execute(
                "INSERT INTO folder (id, scopeID) VALUES ('f0', '\(scope)'), ('other', '\(scope)')",
                Self.make(2_300, insert: "\(insert) 'f' || i, 'f' || (i - 1), '\(scope)'"),
                "UPDATE folder SET \"parentID\" = 'f5' WHERE id = 'f0'",
                Self.make(900, insert: "\(insert) 'w' || i, 'f3', '\(scope)'"))
            let push = try deletion(of: "f0", type: "FolderV1", by: ann)
            // No database deletes so many levels by one statement.
            let reply = await server.service.push(push, token: ann.token)
            #expect(reply.status == 200, "\(reply)")
            #expect(try await server.text("SELECT id FROM folder") == "other")
        }
    }

    @Test("Many rows of other tables at the end of a deep tree are removed")
    func leaves() async throws {
        let schema = SyncSchema(tables: [
            Self.folder,
            .init("page", columns: [.init("folderID", kind: .text, parent: .init("folder", onDelete: .cascade))]),
            .init("note", columns: [.init("pageID", kind: .text, parent: .init("page", onDelete: .cascade))]),
        ])
        try await server(schema: schema) { server, _, ann in
            let scope = try await server.scope(of: "ann")
            let folders = "INSERT INTO folder (id, \"parentID\", scopeID) SELECT"
            // The page is at the last level that a step descends to.
            try await server.execute(
                "INSERT INTO folder (id, scopeID) VALUES ('f0', '\(scope)')",
                Self.make(998, insert: "\(folders) 'f' || i, 'f' || (i - 1), '\(scope)'"),
                "INSERT INTO page (id, \"folderID\", scopeID) VALUES ('p', 'f998', '\(scope)')",
                Self.make(600, insert: "INSERT INTO note (id, \"pageID\", scopeID) SELECT 'n' || i, 'p', '\(scope)'"))
            let reply = await server.service.push(
                try deletion(of: "f0", type: "FolderV1", by: ann), token: ann.token)
            #expect(reply.status == 200, "\(reply)")
            for table in ["folder", "page", "note"] { #expect(try await server.count(table) == 0) }
        }
    }

    @Test("An account is removed with deep trees of its own and of others below its rows")
    func account() async throws {
        try await server(schema: SyncSchema(tables: [Self.folder])) { server, _, _ in
            _ = try await server.device(of: "bob")
            let (ann, bob) = (try await server.scope(of: "ann"), try await server.scope(of: "bob"))
            let insert = "INSERT INTO folder (id, \"parentID\", scopeID) SELECT"
            try await server.execute(
                "INSERT INTO folder (id, scopeID) VALUES ('a0', '\(ann)'), ('b', '\(bob)')",
                Self.make(2_300, insert: "\(insert) 'a' || i, 'a' || (i - 1), '\(ann)'"),
                "\(insert) 'b0', 'a7', '\(bob)'",
                Self.make(2_300, insert: "\(insert) 'b' || i, 'b' || (i - 1), '\(bob)'"))
            #expect(try await server.service.removeAccount(named: "ann"))
            #expect(try await server.text("SELECT id FROM folder") == "b")
        }
    }
}
