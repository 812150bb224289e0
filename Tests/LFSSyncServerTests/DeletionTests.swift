import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("B: deletions", .timeLimit(.minutes(10)))
struct DeletionTests {
    /// A server with a recipe of two steps with a comment each, all of which the device has.
    static func run(_ body: (TestServer, TestDevice) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", "r1", ["title": .text("Soup")])
            for number in 1...2 {
                try await device.put("StepV1", "s\(number)", ["recipeID": .text("r1")])
                try await device.put("CommentV1", "c\(number)", ["stepID": .text("s\(number)")])
            }
            try await device.sync()
            try await body(server, device)
            // Whatever has happened: all of it is told once.
            try await device.sync()
            #expect(try await device.sync() == [])
        }
    }

    @Test("1 one is told; 16 with its key and nothing else of the row")
    func one() async throws {
        try await Self.run { server, device in
            try await device.push(.delete, "CommentV1", "c1")
            let line = try await device.lines().first { $0.contains("Delete") }
            #expect(line?.hasPrefix(#"{"type":"CommentDeleteV1","ack":"CommentV1|account/"#) == true)
            #expect(line?.hasSuffix(#"|1","data":{"id":"c1"}}"#) == true)
        }
    }

    @Test("2 many in one statement are told; 7, 8 so are those that go with a parent, over two levels")
    func cascade() async throws {
        try await Self.run { server, device in
            try await server.execute("DELETE FROM comment")
            #expect(try await device.sync() == ["-Comment c1", "-Comment c2"])
            try await server.execute(
                "INSERT INTO comment (id, \"stepID\", scopeID) SELECT 'c' || id, id, scopeID FROM step")
            try await device.sync()
            try await server.execute("DELETE FROM recipe")
            #expect(
                try await Set(device.sync()) == [
                    "-Recipe r1", "-Step s1", "-Step s2", "-Comment cs1", "-Comment cs2",
                ])
        }
    }

    @Test("3 a row that is gone before a device's first sync is nothing to it; 17 nor does a new device hear of it")
    func before() async throws {
        try await Self.run { server, device in
            try await device.push(.delete, "CommentV1", "c1")
            let delivery = try await server.device().delivery(isEmpty: true)
            let kept = ["Recipe r1", "Step s1", "Step s2", "Comment c2"]
            #expect(delivery.items.sorted() == kept.sorted())
            // One that does not say that it is empty may have the row, from a session before.
            #expect(try await server.device().delivery().items.contains("-Comment c1"))
            // What is deleted from then on is told, also to one that has not acknowledged and says so again.
            let late = try await server.device()
            _ = try await late.lines(isEmpty: true)
            try await device.push(.delete, "CommentV1", "c2")
            #expect(try await late.delivery(isEmpty: true).items.contains("-Comment c2"))
        }
    }

    @Test("3, 17 nor does a new device hear of what had left an album; it hears of what leaves it then")
    func beforeInAlbum() async throws {
        try await SharingServer.run { server in
            let (ann, cat) = (try await server.person("ann"), try await server.person("cat"))
            for key in ["f", "g", "h"] { try await ann.file(key) }
            try await ann.album("x")
            for key in ["f", "g", "h"] { try await ann.link("x", key) }
            try await ann.share("x", cat)
            try await ann.delete("AlbumFileV1", "x-f")
            let new = try await server.person("cat")
            let lines = try await new.device.lines(types: SharingServer.types, isEmpty: true)
            #expect(lines.contains { $0.contains("AlbumFileV1") && $0.contains("x-g") })
            #expect(!lines.contains { $0.contains("DeleteV1") }, "\(lines)")
            try await ann.delete("AlbumFileV1", "x-g")
            let next = try await new.device.lines(types: SharingServer.types, isEmpty: true)
            #expect(next.contains { $0.contains("AlbumFileDeleteV1") && $0.contains("x-g") }, "\(next)")
        }
    }

    @Test("4 made and deleted between two syncs: one deletion; 5 deleted and made again: one row")
    func between() async throws {
        try await Self.run { server, device in
            try await device.put("RecipeV2", "r2", ["title": .text("Stew")])
            try await device.push(.delete, "RecipeV2", "r2")
            #expect(try await device.sync() == ["-Recipe r2"])
            try await device.push(.delete, "CommentV1", "c1")
            try await device.put("CommentV1", "c1", ["stepID": .text("s1")])
            #expect(try await device.sync() == ["Comment c1"])
        }
    }

    @Test("6 deleted, acknowledged, made again, deleted: each is told")
    func again() async throws {
        try await Self.run { server, device in
            for _ in 1...2 {
                try await device.push(.delete, "CommentV1", "c1")
                #expect(try await device.sync() == ["-Comment c1"])
                try await device.put("CommentV1", "c1", ["stepID": .text("s1")])
                #expect(try await device.sync() == ["Comment c1"])
            }
        }
    }

    @Test("9 a reference that is set to NULL with its parent is a change of the child")
    func setNull() async throws {
        try await Self.run { server, device in
            let sha256 = String(repeating: "a", count: 64)
            try await device.put(
                "FileV1", "f1",
                [
                    "byteCount": .integer(1), "sha256": .text(sha256), "key": .text("n/f1"), "createdAt": .text("2026"),
                    "status": .text("local"),
                ])
            try await device.push(.patch, "RecipeV2", "r1", ["photoID": .text("f1")])
            try await device.sync()
            try await device.push(.delete, "FileV1", "f1")
            let delivery = try await device.delivery()
            #expect(delivery.items == ["-File f1", "Recipe r1"])
            #expect(delivery.rows.first?["photoID"] == .null)
        }
    }

    @Test("10 another account's deletion is not told; 11 an account that goes as a whole leaves none, and no session")
    func accounts() async throws {
        try await Self.run { server, device in
            let bob = try await server.device(of: "bob")
            try await bob.put("RecipeV2", "b1", ["title": .text("Stew")])
            try await bob.push(.delete, "RecipeV2", "b1")
            #expect(try await device.sync() == [])
            let scope = try await server.scope(of: "bob")
            try await server.execute(
                "DELETE FROM sync_scope WHERE id = '\(scope)'", "DELETE FROM sync_account WHERE name = 'bob'")
            #expect(
                try await server.text("SELECT count(*) || '' FROM sync_tombstone WHERE scopeID = '\(scope)'") == "0")
            #expect(await bob.service.stream(.init(), token: bob.token).status == 401)
        }
    }

    @Test("18 triggers of the host beside ours are no harm")
    func host() async throws {
        try await Self.run { server, device in
            let change = "UPDATE step SET text = 'less' WHERE id ="
            switch server.database.dialect {
            case .sqlite:
                try await server.execute(
                    "CREATE TRIGGER host AFTER DELETE ON comment BEGIN \(change) OLD.stepID; END")
            case .postgres:
                try await server.execute(
                    """
                    CREATE FUNCTION host() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN \(change) OLD."stepID"; RETURN OLD; END $$;
                    CREATE TRIGGER host AFTER DELETE ON comment FOR EACH ROW EXECUTE FUNCTION host()
                    """)
            }
            try await device.push(.delete, "CommentV1", "c1")
            #expect(try await Set(device.sync()) == ["-Comment c1", "Step s1"])
        }
    }
}
