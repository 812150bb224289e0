import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("E: shared albums, who may what", .timeLimit(.minutes(10)))
struct AlbumRightsTests {
    /// Ann's album x with her file a1, of which Bob is a viewer and Cat an editor. Dan is nobody.
    private func run(_ body: (TestServer, [Person]) async throws -> Void) async throws {
        try await SharingServer.run { server in
            var people: [Person] = []
            for name in ["ann", "bob", "cat", "dan"] {
                let person = try await server.person(name)
                try await person.file(String(name.prefix(1)) + "1")
                people.append(person)
            }
            try await people[0].album("x")
            try await people[0].link("x", "a1")
            try await people[0].share("x", people[1])
            try await people[0].share("x", people[2], "editor")
            for person in people { try await person.sync() }
            try await body(server, people)
        }
    }

    @Test("24 an editor adds and removes, a viewer and a stranger may not")
    func links() async throws {
        try await run { server, people in
            let (ann, bob, cat, dan) = (people[0], people[1], people[2], people[3])
            #expect(try await cat.link("x", "c1").isApplied)
            try await ann.sync()
            // Whoever made it, the link is in the album's account.
            #expect(ann.has().contains("AlbumFile x-c1") && ann.has("album/x") == ["File c1"])
            #expect(try await bob.link("x", "b1").code == "forbidden")
            #expect(try await bob.unlink("x", "c1").code == "forbidden")
            #expect(try await dan.link("x", "d1").code == "missing")
            #expect(try await dan.unlink("x", "c1") == .applied(nil))
            #expect(try await server.count("album_file") == 2)
            let outcome = try await cat.unlink("x", "a1")
            #expect(outcome.isApplied)
            #expect(try await server.count("album_file") == 1)
        }
    }

    @Test("24 the position that an editor is told is that with which the link comes to him")
    func position() async throws {
        try await run { server, people in
            let outcome = try await people[2].link("x", "c1")
            let lines = try await people[2].device.lines(types: SharingServer.types)
            guard case .applied(let position?) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(lines.contains { $0.contains("\"AlbumFileV1\"") && $0.contains(position.text) })
        }
    }

    @Test("25 an editor may not rename or delete others' files, nor the album")
    func files() async throws {
        try await run { server, people in
            let cat = people[2]
            #expect(try await cat.rename("a1", "mine").code == "forbidden")
            #expect(try await cat.delete("FileV1", "a1").code == "forbidden")
            #expect(
                try await cat.device.push(.patch, "AlbumV1", "x", ["title": .text("mine")]).outcome.code == "forbidden")
            #expect(try await cat.delete("AlbumV1", "x").code == "forbidden")
            let name = try await server.text("SELECT name FROM lfs_file WHERE id = 'a1'")
            #expect(name == "a1")
        }
    }

    @Test("15 only the owner makes and changes members; a member may go, and send nobody else away")
    func members() async throws {
        try await run { server, people in
            let (ann, bob, cat, dan) = (people[0], people[1], people[2], people[3])
            #expect(try await cat.share("x", dan).code == "forbidden")
            #expect(try await dan.share("x", dan).code == "missing")
            #expect(try await cat.unshare("x", bob).code == "forbidden")
            let role = ["role": SyncValue.text("editor")]
            #expect(try await bob.device.push(.patch, "AlbumUserV1", "x-bob", role).outcome.code == "forbidden")
            #expect(try await dan.unshare("x", bob) == .applied(nil))
            let move = ["accountID": SyncValue.text(dan.id)]
            #expect(try await ann.device.push(.patch, "AlbumUserV1", "x-bob", move).outcome.code == "forbidden")
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 3)
            let left = try await bob.unshare("x", bob)
            #expect(left.isApplied)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 2)
        }
    }

    @Test("15 a member's row in an account that does not own the album lets nobody in")
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
            #expect(try await people[0].share("x", people[0], "viewer").isApplied)
            let role = try await server.text(
                "SELECT role FROM sync_grant WHERE scopeID = 'album/x' AND accountID = '\(people[0].id)'")
            #expect(role == "owner")
        }
    }

    @Test("26 a link to a file that its maker does not see is refused as one to no file")
    func unseen() async throws {
        try await run { server, people in
            let cat = people[2]
            for file in ["d1", "nothing"] {
                guard case .rejected(let failure, nil) = try await cat.link("x", file) else {
                    Issue.record("It was taken.")
                    continue
                }
                #expect(failure == WireFailure(.missing, "The row that 'fileID' refers to is not there."))
            }
        }
    }

    @Test("26 a link to the file of somebody who is not in the album is not sent, nor is the file, until he is")
    func outside() async throws {
        try await run { server, people in
            let (ann, bob, dan) = (people[0], people[1], people[3])
            try await dan.letRead(ann)
            #expect(try await ann.link("x", "d1").isApplied)
            #expect(try await bob.sync() == [])
            try await ann.share("x", dan)
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: File d1", "album/x: AlbumUser x-dan", "album/x: AlbumFile x-d1",
                ])
            // The file moves to an account that is not in it, and back.
            let eve = try await server.person("eve")
            try await server.execute("UPDATE lfs_file SET scopeID = 'account/\(eve.id)' WHERE id = 'd1'")
            try await bob.sync()
            #expect(!bob.has("album/x").contains("File d1") && !bob.has("album/x").contains("AlbumFile x-d1"))
            try await server.execute("UPDATE lfs_file SET scopeID = 'account/\(ann.id)' WHERE id = 'd1'")
            try await bob.sync()
            #expect(bob.has("album/x").contains("File d1") && bob.has("album/x").contains("AlbumFile x-d1"))
        }
    }

    @Test("M13 what a session may not see is to it as if it were not there")
    func existence() async throws {
        try await run { server, people in
            let dan = people[3]
            #expect(try await dan.rename("a1", "x") == dan.rename("zz", "x"))
            #expect(try await dan.delete("FileV1", "a1") == dan.delete("FileV1", "zz"))
            let count = try await server.count("lfs_file", where: "id = 'a1'")
            #expect(count == 1)
        }
    }

    @Test("nobody holds another one's row by a reference that forbids its deletion")
    func held() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            #expect(try await bob.device.put("NoteV1", "n", ["fileID": .text("a1")]).outcome.code == "missing")
            #expect(try await bob.device.put("NoteV1", "n", ["fileID": .text("b1")]).outcome.isApplied)
            let outcome = try await ann.delete("FileV1", "a1")
            #expect(outcome.isApplied)
        }
    }

    @Test("An account that shares nothing with the giver can be given 50 albums, and its own do not count them")
    func unaccepted() async throws {
        try await run { server, people in
            let (ann, bob) = (people[0], people[1])
            // One album of the two is shared with bob by the suite.
            let before = try await server.count(
                "sync_grant", where: "accountID = '\(bob.id)' AND role <> 'owner'")
            for number in before..<50 {
                try await ann.album("a\(number)")
                #expect(try await ann.share("a\(number)", bob).isApplied)
            }
            try await ann.album("more")
            #expect(try await ann.share("more", bob).code == "too_many")
            #expect(try await server.count("album_user", where: "\"albumID\" = 'more'") == 0)
            // Another giver, and bob's own sharing, are as free as before.
            let cat = people[2]
            try await cat.album("cats")
            #expect(try await cat.share("cats", bob).isApplied)
            try await bob.album("bobs")
            #expect(try await bob.share("bobs", cat).isApplied)
            #expect(try await ann.share("more", bob).code == "too_many")
            // He accepts her by sharing something in return.
            #expect(try await bob.share("bobs", ann).isApplied)
            #expect(try await ann.share("more", bob).isApplied)
        }
    }

    @Test("What others have given an account takes no place of its own shared albums")
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
            #expect(try await bob.share("bobs", people[2]).isApplied)
        }
    }

    @Test("28 1,000 albums are shared at once; 29 one more is refused with what there is of each kind")
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
            #expect(try await ann.share("one", bob).code == "too_many")
            #expect(try await server.count("album_user", where: "\"albumID\" = 'one'") == 0)
            try await server.execute(
                """
                INSERT INTO partner (id, "sharedByID", "sharedWithID", scopeID)
                VALUES ('p', '\(bob.id)', '\(ann.id)', 'account/\(bob.id)')
                """)
            guard case .rejected(let failure, _) = try await ann.share("one", bob) else {
                Issue.record("It was taken.")
                return
            }
            // What bob has given her does not count.
            #expect(failure.message.contains("would have 1001 of 'album', and"), "\(failure)")
        }
    }
}
