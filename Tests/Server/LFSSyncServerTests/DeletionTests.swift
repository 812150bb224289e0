import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Deletions in streams", .timeLimit(.minutes(10)))
struct DeletionTests {
    /// Runs a body with a server that has a recipe of two steps with one comment each. The device has all rows.
    static func run(_ body: (TestServer, TestDevice) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            for number in 1...2 {
                try await device.put("StepV1", key: "s\(number)", values: ["recipeID": .text("r1")])
                try await device.put("CommentV1", key: "c\(number)", values: ["stepID": .text("s\(number)")])
            }
            try await device.sync()
            try await body(server, device)
            // Everything has been sent, so the last stream is empty.
            try await device.sync()
            #expect(try await device.sync() == [])
        }
    }

    @Test("A deletion is sent with the row's key only")
    func one() async throws {
        try await Self.run { server, device in
            try await device.push(.delete, type: "CommentV1", key: "c1")
            let line = try await device.lines().first { $0.contains("Delete") }
            #expect(line?.hasPrefix(#"{"type":"CommentDeleteV1","ack":"CommentV1|account/"#) == true)
            #expect(line?.hasSuffix(#"|1","data":{"id":"c1"}}"#) == true)
        }
    }

    @Test("Deletions of one statement are sent, including cascades over two levels")
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

    @Test("An empty device receives no earlier deletions but all later ones")
    func before() async throws {
        try await Self.run { server, device in
            try await device.push(.delete, type: "CommentV1", key: "c1")
            let delivery = try await server.device().delivery(isEmpty: true)
            let kept = ["Recipe r1", "Step s1", "Step s2", "Comment c2"]
            #expect(delivery.items.sorted() == kept.sorted())
            // A device that does not claim to be empty may have the row from an earlier session.
            #expect(try await server.device().delivery().items.contains("-Comment c1"))
            // Later deletions are sent, even to a device that has acknowledged nothing and claims again to be empty.
            let late = try await server.device()
            _ = try await late.lines(isEmpty: true)
            try await device.push(.delete, type: "CommentV1", key: "c2")
            #expect(try await late.delivery(isEmpty: true).items.contains("-Comment c2"))
        }
    }

    @Test("An empty device receives no earlier removals from an album but all later ones")
    func beforeInAlbum() async throws {
        try await SharingServer.run { server in
            let (ann, cat) = (try await server.person("ann"), try await server.person("cat"))
            for key in ["f", "g", "h"] { try await ann.file(key) }
            try await ann.album("x")
            for key in ["f", "g", "h"] { try await ann.link("x", file: key) }
            try await ann.share("x", other: cat)
            try await ann.delete("AlbumFileV1", key: "x-f")
            let new = try await server.person("cat")
            let lines = try await new.device.lines(types: SharingServer.types, isEmpty: true)
            #expect(lines.contains { $0.contains("AlbumFileV1") && $0.contains("x-g") })
            #expect(!lines.contains { $0.contains("DeleteV1") }, "\(lines)")
            try await ann.delete("AlbumFileV1", key: "x-g")
            let next = try await new.device.lines(types: SharingServer.types, isEmpty: true)
            #expect(next.contains { $0.contains("AlbumFileDeleteV1") && $0.contains("x-g") }, "\(next)")
        }
    }

    @Test("Changes between two syncs collapse to one deletion or one row")
    func between() async throws {
        try await Self.run { server, device in
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            try await device.push(.delete, type: "RecipeV2", key: "r2")
            #expect(try await device.sync() == ["-Recipe r2"])
            try await device.push(.delete, type: "CommentV1", key: "c1")
            try await device.put("CommentV1", key: "c1", values: ["stepID": .text("s1")])
            #expect(try await device.sync() == ["Comment c1"])
        }
    }

    @Test("Each deletion of a row that was inserted again is sent")
    func again() async throws {
        try await Self.run { server, device in
            for _ in 1...2 {
                try await device.push(.delete, type: "CommentV1", key: "c1")
                #expect(try await device.sync() == ["-Comment c1"])
                try await device.put("CommentV1", key: "c1", values: ["stepID": .text("s1")])
                #expect(try await device.sync() == ["Comment c1"])
            }
        }
    }

    @Test("A reference set to NULL by a deleted parent is sent as a change of the child")
    func setNull() async throws {
        try await Self.run { server, device in
            let sha256 = String(repeating: "a", count: 64)
            try await device.put(
                "FileV1", key: "f1",
                values: [
                    "byteCount": .integer(1), "sha256": .text(sha256), "key": .text("n/f1"), "createdAt": .text("2026"),
                    "status": .text("local"),
                ])
            try await device.push(.patch, type: "RecipeV2", key: "r1", values: ["photoID": .text("f1")])
            try await device.sync()
            try await device.push(.delete, type: "FileV1", key: "f1")
            let delivery = try await device.delivery()
            #expect(delivery.items == ["-File f1", "Recipe r1"])
            #expect(delivery.rows.first?["photoID"] == .null)
        }
    }

    @Test("Deletions of another account are not sent, and a deleted account leaves none")
    func accounts() async throws {
        try await Self.run { server, device in
            let bob = try await server.device(of: "bob")
            try await bob.put("RecipeV2", key: "b1", values: ["title": .text("Stew")])
            try await bob.push(.delete, type: "RecipeV2", key: "b1")
            #expect(try await device.sync() == [])
            let scope = try await server.scope(of: "bob")
            try await server.execute(
                "DELETE FROM sync_scope WHERE id = '\(scope)'", "DELETE FROM sync_account WHERE name = 'bob'")
            #expect(
                try await server.text("SELECT count(*) || '' FROM sync_tombstone WHERE scopeID = '\(scope)'") == "0")
            #expect(await bob.service.stream(.init(), token: bob.token).status == 401)
        }
    }

    @Test("Triggers of the app do not disturb sync triggers")
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
            try await device.push(.delete, type: "CommentV1", key: "c1")
            #expect(try await Set(device.sync()) == ["-Comment c1", "Step s1"])
        }
    }
}
