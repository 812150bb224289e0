import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Rights in shared albums", .timeLimit(.minutes(10)))
struct AlbumRightsTests {
    /// Runs a body with Ann's album x, which contains her file a1. Bob is a viewer and Cat an editor. Dan is not a
    /// member.
    private func run(_ body: (TestServer, [Person]) async throws -> Void) async throws {
        try await SharingServer.run { server in
            var people: [Person] = []
            for name in ["ann", "bob", "cat", "dan"] {
                let person = try await server.person(name)
                try await person.file(String(name.prefix(1)) + "1")
                people.append(person)
            }
            try await people[0].album("x")
            try await people[0].link("x", file: "a1")
            try await people[0].share("x", other: people[1])
            try await people[0].share("x", other: people[2], role: "editor")
            for person in people { try await person.sync() }
            try await body(server, people)
        }
    }

    @Test("Only an editor may add and remove links")
    func links() async throws {
        try await run { server, people in
            let (ann, bob, cat, dan) = (people[0], people[1], people[2], people[3])
            #expect(try await cat.link("x", file: "c1").isApplied)
            try await ann.sync()
            // The link belongs to the album's account, regardless of its creator.
            #expect(ann.has().contains("AlbumFile x-c1") && ann.has("album/x") == ["File c1"])
            #expect(try await bob.link("x", file: "b1").code == "forbidden")
            #expect(try await bob.unlink("x", file: "c1").code == "forbidden")
            #expect(try await dan.link("x", file: "d1").code == "missing")
            #expect(try await dan.unlink("x", file: "c1") == .applied(nil))
            #expect(try await server.count("album_file") == 2)
            let outcome = try await cat.unlink("x", file: "a1")
            #expect(outcome.isApplied)
            #expect(try await server.count("album_file") == 1)
        }
    }

    @Test("The position returned to an editor is that of the link in his stream")
    func position() async throws {
        try await run { server, people in
            let outcome = try await people[2].link("x", file: "c1")
            let lines = try await people[2].device.lines(types: SharingServer.types)
            guard case .applied(let position?) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(lines.contains { $0.contains("\"AlbumFileV1\"") && $0.contains(position.text) })
        }
    }

    @Test("An editor may not rename or delete others' files or the album")
    func files() async throws {
        try await run { server, people in
            let cat = people[2]
            #expect(try await cat.rename("a1", name: "mine").code == "forbidden")
            #expect(try await cat.delete("FileV1", key: "a1").code == "forbidden")
            #expect(
                try await cat.device.push(.patch, type: "AlbumV1", key: "x", values: ["title": .text("mine")]).outcome
                    .code == "forbidden")
            #expect(try await cat.delete("AlbumV1", key: "x").code == "forbidden")
            let name = try await server.text("SELECT name FROM lfs_file WHERE id = 'a1'")
            #expect(name == "a1")
        }
    }

    @Test("Only the owner manages members, and a member may only remove himself")
    func members() async throws {
        try await run { server, people in
            let (ann, bob, cat, dan) = (people[0], people[1], people[2], people[3])
            #expect(try await cat.share("x", other: dan).code == "forbidden")
            #expect(try await dan.share("x", other: dan).code == "missing")
            #expect(try await cat.unshare("x", other: bob).code == "forbidden")
            let role = ["role": SyncValue.text("editor")]
            #expect(
                try await bob.device.push(.patch, type: "AlbumUserV1", key: "x-bob", values: role).outcome.code
                    == "forbidden")
            #expect(try await dan.unshare("x", other: bob) == .applied(nil))
            let move = ["accountID": SyncValue.text(dan.id)]
            #expect(
                try await ann.device.push(.patch, type: "AlbumUserV1", key: "x-bob", values: move).outcome.code
                    == "forbidden")
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 3)
            let left = try await bob.unshare("x", other: bob)
            #expect(left.isApplied)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 2)
        }
    }

    @Test("A member row in an account that does not own the album grants no access")
    func smuggled() async throws {
        try await run { server, people in
            let dan = people[3]
            try await server.execute(
                """
                INSERT INTO album_user (id, "albumID", "accountID", role, scopeID)
                VALUES ('s', 'x', '\(dan.id)', 'editor', 'account/\(dan.id)')
                """)
            try await dan.sync()
            #expect(dan.has("album/x") == [])
            #expect(try await people[0].share("x", other: people[0], role: "viewer").isApplied)
            let role = try await server.text(
                "SELECT role FROM sync_grant WHERE scopeID = 'album/x' AND accountID = '\(people[0].id)'")
            #expect(role == "owner")
        }
    }

    @Test("A link to a file that its creator cannot see is refused as missing")
    func unseen() async throws {
        try await run { server, people in
            let cat = people[2]
            for file in ["d1", "nothing"] {
                guard case .rejected(let failure, nil) = try await cat.link("x", file: file) else {
                    Issue.record("It was taken.")
                    continue
                }
                #expect(failure == WireFailure(.missing, message: "The row that 'fileID' refers to does not exist."))
            }
        }
    }

    @Test("A number cannot link a file that its sender does not see")
    func numbered() async throws {
        try await run { server, people in
            let (ann, dan) = (people[0], people[3])
            #expect(try await dan.file("42").isApplied)
            #expect(try await ann.share("x", other: dan).isApplied)
            let outcome = try await ann.device.put(
                "AlbumFileV1", key: "x-42", values: ["albumID": .text("x"), "fileID": .integer(42)]
            ).outcome
            #expect(outcome.code == "invalid_request")
            #expect(try await server.count("album_file") == 1)
            try await ann.sync()
            #expect(!ann.has("album/x").contains("File 42"))
        }
    }

    @Test("A link to a file of a non-member is sent only once its owner is a member")
    func outside() async throws {
        try await run { server, people in
            let (ann, bob, dan) = (people[0], people[1], people[3])
            try await dan.letRead(ann)
            #expect(try await ann.link("x", file: "d1").isApplied)
            #expect(try await bob.sync() == [])
            try await ann.share("x", other: dan)
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: File d1", "album/x: AlbumUser x-dan", "album/x: AlbumFile x-d1",
                ])
            // The file moves to an account outside the album, and back.
            let eve = try await server.person("eve")
            try await server.execute("UPDATE lfs_file SET scopeID = 'account/\(eve.id)' WHERE id = 'd1'")
            try await bob.sync()
            #expect(!bob.has("album/x").contains("File d1") && !bob.has("album/x").contains("AlbumFile x-d1"))
            try await server.execute("UPDATE lfs_file SET scopeID = 'account/\(ann.id)' WHERE id = 'd1'")
            try await bob.sync()
            #expect(bob.has("album/x").contains("File d1") && bob.has("album/x").contains("AlbumFile x-d1"))
        }
    }

    @Test("A row without access behaves like a missing row")
    func existence() async throws {
        try await run { server, people in
            let dan = people[3]
            #expect(try await dan.rename("a1", name: "x") == dan.rename("zz", name: "x"))
            #expect(try await dan.delete("FileV1", key: "a1") == dan.delete("FileV1", key: "zz"))
            let count = try await server.count("lfs_file", where: "id = 'a1'")
            #expect(count == 1)
        }
    }

    @Test("A reference to another account's row cannot prevent its deletion")
    func held() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            #expect(
                try await bob.device.put("NoteV1", key: "n", values: ["fileID": .text("a1")]).outcome.code == "missing")
            #expect(try await bob.device.put("NoteV1", key: "n", values: ["fileID": .text("b1")]).outcome.isApplied)
            let outcome = try await ann.delete("FileV1", key: "a1")
            #expect(outcome.isApplied)
        }
    }

    @Test("At most 1,000 rows of an account may refer to one row of another account")
    func foreignReferences() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            for album in ["b", "c"] { try await bob.album(album) }
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
                INSERT INTO album_file (id, "albumID", "fileID", scopeID)
                SELECT 'l' || i, 'b', 'a1', 'account/\(bob.id)' FROM n
                """)
            #expect(try await bob.link("b", file: "a1").isApplied)
            #expect(try await bob.link("c", file: "a1").code == "too_many")
            // A row that refers to it already may be written again, and other rows are not affected.
            #expect(try await bob.link("b", file: "a1").isApplied)
            #expect(try await bob.link("c", file: "b1").isApplied)
            #expect(try await people[2].link("x", file: "c1").isApplied)
            #expect(try await server.count("album_file", where: "\"fileID\" = 'a1'") == 1_001)
            #expect(try await ann.delete("FileV1", key: "a1").isApplied)
            #expect(try await server.count("album_file", where: "\"fileID\" = 'a1'") == 0)
        }
    }

    @Test("An account receives at most 50 albums from a giver with whom it shares nothing")
    func unaccepted() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            // One of these albums is already shared with Bob.
            let before = try await server.count(
                "sync_grant", where: "accountID = '\(bob.id)' AND role <> 'owner'")
            for number in before..<50 {
                try await ann.album("a\(number)")
                #expect(try await ann.share("a\(number)", other: bob).isApplied)
            }
            try await ann.album("more")
            #expect(try await ann.share("more", other: bob).code == "too_many")
            #expect(try await server.count("album_user", where: "\"albumID\" = 'more'") == 0)
            // Another giver and Bob's own sharing are not affected.
            let cat = people[2]
            try await cat.album("cats")
            #expect(try await cat.share("cats", other: bob).isApplied)
            try await bob.album("bobs")
            #expect(try await bob.share("bobs", other: cat).isApplied)
            #expect(try await ann.share("more", other: bob).code == "too_many")
            // Bob accepts her by sharing an album in return.
            #expect(try await bob.share("bobs", other: ann).isApplied)
            #expect(try await ann.share("more", other: bob).isApplied)
        }
    }

    @Test("Received albums do not count against an account's own shared albums")
    func received() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                INSERT INTO album (id, scopeID) SELECT 'm' || i, 'account/\(ann.id)' FROM n;
                INSERT INTO album_user (id, "albumID", "accountID", scopeID)
                SELECT 'u' || id, id, '\(bob.id)', scopeID FROM album WHERE id LIKE 'm%'
                """)
            try await bob.album("bobs")
            #expect(try await bob.share("bobs", other: people[2]).isApplied)
        }
    }

    @Test("The album that exceeds the sharing limit is refused")
    func many() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            try await ann.letRead(bob)
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
                INSERT INTO album (id, scopeID) SELECT 'm' || i, 'account/\(ann.id)' FROM n;
                INSERT INTO album_user (id, "albumID", "accountID", scopeID)
                SELECT 'u' || id, id, '\(people[2].id)', scopeID FROM album WHERE id <> 'x'
                """)
            try await people[2].sync()
            #expect(people[2].rows.count == 1_001)
            try await ann.album("one")
            #expect(try await ann.share("one", other: bob).code == "too_many")
            #expect(try await server.count("album_user", where: "\"albumID\" = 'one'") == 0)
            try await server.execute(
                """
                INSERT INTO partner (id, "sharedByID", "sharedWithID", scopeID)
                VALUES ('p', '\(bob.id)', '\(ann.id)', 'account/\(bob.id)')
                """)
            guard case .rejected(let failure, _) = try await ann.share("one", other: bob) else {
                Issue.record("It was taken.")
                return
            }
            // Bob's album that he shares with her does not count.
            #expect(failure.message.contains("would have 1001 of 'album', and"), "\(failure)")
        }
    }
}
