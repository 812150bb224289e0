import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("E: shared albums, what comes", .timeLimit(.minutes(10)))
struct AlbumTests {
    /// Ann's album x has two of her three files, and Cat's; Cat is an editor of it. Bob has one file and nothing else.
    private func run(_ body: (TestServer, Person, Person, Person) async throws -> Void) async throws {
        try await SharingServer.run { server in
            let people = [
                try await server.person("ann"), try await server.person("bob"), try await server.person("cat"),
            ]
            let (ann, bob, cat) = (people[0], people[1], people[2])
            for key in ["a1", "a2", "a3"] { try await ann.file(key) }
            try await bob.file("b1")
            try await cat.file("c1")
            try await ann.album("x")
            for key in ["a1", "a2"] { try await ann.link("x", key) }
            try await ann.share("x", cat, "editor")
            try await cat.link("x", "c1")
            for person in people { try await person.sync() }
            try await body(server, ann, bob, cat)
            for person in people {
                try await person.sync()
                #expect(try await person.sync() == [])
            }
            // What a device has put together from changes is what a new one gets.
            for person in people {
                let fresh = try await server.person(person.name)
                try await fresh.sync()
                #expect(person.rows.filter { !$0.value.isEmpty } == fresh.rows.filter { !$0.value.isEmpty })
            }
        }
    }

    private let whole = [
        "Album x", "AlbumFile x-a1", "AlbumFile x-a2", "AlbumFile x-c1", "AlbumUser x-bob", "AlbumUser x-cat",
        "File a1",
        "File a2", "File c1",
    ]

    @Test("1 made, renamed and deleted by its owner")
    func owner() async throws {
        try await run { server, ann, bob, cat in
            #expect(cat.has("album/x").contains("Album x"))
            #expect(try await ann.device.push(.patch, "AlbumV1", "x", ["title": .text("Sea")]).outcome.isApplied)
            #expect(try await cat.sync() == ["album/x: Album x"])
            try await ann.delete("AlbumV1", "x")
            #expect(try await cat.sync() == ["!album/x"])
        }
    }

    @Test("2, 3 shared before or after a device's first sync, all of it comes; 6 so does the file of a third account")
    func share() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            try await bob.sync()
            #expect(bob.has("album/x") == whole)
            let late = try await server.person("bob")
            try await late.sync()
            #expect(late.has("album/x") == whole && late.has() == ["File b1"])
        }
    }

    @Test("4 a back-fill that is cut at each line goes on there")
    func cut() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            let count = try await server.person("bob").device.lines(types: SharingServer.types).count
            for limit in 0..<count {
                let device = try await server.person("bob")
                let first = try await device.sync(cutAfter: limit)
                #expect(Set(first).isDisjoint(with: try await device.sync()))
                #expect(device.has("album/x") == whole)
            }
            try await server.execute(
                "DELETE FROM sync_session WHERE id NOT IN (SELECT min(id) FROM sync_session GROUP BY accountID)")
        }
    }

    @Test("5 an old file that is added to an old album comes; 10 one that is taken out goes")
    func link() async throws {
        try await run { server, ann, bob, cat in
            try await ann.link("x", "a3")
            #expect(try await cat.sync() == ["album/x: File a3", "album/x: AlbumFile x-a3"])
            try await ann.unlink("x", "a3")
            #expect(try await Set(cat.sync()) == ["album/x: -File a3", "album/x: -AlbumFile x-a3"])
            #expect(ann.has().contains("File a3"))
        }
    }

    @Test("7 a file that its owner has changed comes to each reader once; 8 so does its status")
    func changed() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            for person in [ann, bob] { try await person.sync() }
            try await cat.rename("c1", "new")
            #expect(try await cat.sync() == ["File c1", "album/x: AlbumUser x-bob"])
            #expect(try await ann.sync() == ["album/x: File c1"])
            #expect(try await bob.sync() == ["album/x: File c1"])
            let remote = ["status": SyncValue.text("remote"), "url": .text("https://store.example/c1")]
            #expect(try await cat.device.push(.patch, "FileV1", "c1", remote).outcome.isApplied)
            #expect(try await bob.sync() == ["album/x: File c1"])
            #expect(bob.rows["album/x"]?["File c1"]?["status"] == .text("remote"))
        }
    }

    @Test("11 a file that its owner deletes goes from all, with its link")
    func deleted() async throws {
        try await run { server, ann, bob, cat in
            try await cat.delete("FileV1", "c1")
            #expect(try await Set(ann.sync()) == ["album/x: -File c1", "album/x: -AlbumFile x-c1", "-AlbumFile x-c1"])
            #expect(cat.has("album/x").contains("AlbumFile x-c1"))
            #expect(try await cat.sync().contains("album/x: -AlbumFile x-c1"))
        }
    }

    @Test(
        "12 a file of two albums that is taken out of one stays in the other; linked twice it stays for the other link")
    func both() async throws {
        try await run { server, ann, bob, cat in
            try await ann.album("y")
            try await ann.link("y", "a1")
            try await ann.share("y", cat)
            try await ann.device.put("AlbumFileV1", "again", ["albumID": .text("x"), "fileID": .text("a1")])
            try await cat.sync()
            try await ann.unlink("x", "a1")
            #expect(try await cat.sync() == ["album/x: -AlbumFile x-a1"])
            try await ann.delete("AlbumFileV1", "again")
            #expect(try await Set(cat.sync()) == ["album/x: -AlbumFile again", "album/x: -File a1"])
            #expect(cat.has("album/y").contains("File a1"))
        }
    }

    @Test("13 an own file in a shared album is not sent twice")
    func own() async throws {
        try await run { (server, ann, bob, cat) async throws in
            #expect(ann.has("album/x") == ["File c1"])
            #expect(!cat.has("album/x").contains("File c1") && cat.has() == ["File c1"])
        }
    }

    @Test("14 a viewer sees the members; 15, 16 owner and members see one that comes, changes and goes")
    func members() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            #expect(try await ann.sync() == ["AlbumUser x-bob"])
            #expect(try await cat.sync() == ["album/x: AlbumUser x-bob"])
            try await bob.sync()
            #expect(bob.has("album/x").contains("AlbumUser x-cat"))
            #expect(
                try await ann.device.push(.patch, "AlbumUserV1", "x-bob", ["role": .text("editor")]).outcome.isApplied)
            #expect(
                try await server.text(
                    "SELECT role FROM sync_grant WHERE accountID = '\(bob.id)' AND scopeID = 'album/x'") == "editor")
            #expect(try await cat.sync() == ["album/x: AlbumUser x-bob"])
            #expect(try await bob.sync() == ["album/x: AlbumUser x-bob"])
            try await ann.unshare("x", bob)
            #expect(try await cat.sync() == ["album/x: -AlbumUser x-bob"])
            #expect(try await Set(ann.sync()) == ["-AlbumUser x-bob", "album/x: -AlbumUser x-bob"])
        }
    }

    @Test("17 who is removed hears it, keeps his own, and takes his files along; 18 who leaves, too")
    func removed() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            try await bob.sync()
            try await ann.unshare("x", bob)
            #expect(try await bob.sync() == ["!album/x"])
            #expect(bob.has() == ["File b1"])
            try await ann.share("x", bob)
            try await bob.sync()
            #expect(try await cat.unshare("x", cat).isApplied)
            #expect(try await cat.sync() == ["!album/x"])
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: -AlbumUser x-cat", "album/x: -File c1", "album/x: -AlbumFile x-c1",
                ])
            try await ann.share("x", cat)
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: AlbumUser x-cat", "album/x: File c1", "album/x: AlbumFile x-c1",
                ])
        }
    }

    @Test("19 an album that is deleted is one message, and B12 leaves no deletions of its scope")
    func gone() async throws {
        try await run { server, ann, bob, cat in
            try await ann.delete("AlbumV1", "x")
            #expect(try await cat.sync() == ["!album/x"])
            #expect(try await server.count("sync_member") == 0)
            #expect(try await server.count("sync_tombstone", where: "scopeID LIKE 'album/%'") == 0)
        }
    }

    @Test("20 an album that nobody shares has no scope; 21 without its last member it has none again")
    func unshared() async throws {
        try await run { server, ann, bob, cat in
            try await ann.album("y")
            try await ann.share("y", ann)
            #expect(try await server.count("sync_scope", where: "id = 'album/y'") == 0)
            try await ann.unshare("x", cat)
            #expect(try await server.count("sync_scope", where: "id = 'album/x'") == 0)
            #expect(try await cat.sync() == ["!album/x"])
            #expect(try await ann.sync().contains("!album/x"))
        }
    }

    @Test("22 a second viewer sends the first nothing again; 23 an unrelated account gets nothing")
    func second() async throws {
        try await run { server, ann, bob, cat in
            #expect(bob.has("album/x") == [] && bob.rows.count == 1)
            let dan = try await server.person("dan")
            try await ann.share("x", bob)
            try await bob.sync()
            try await ann.share("x", dan)
            #expect(try await bob.sync() == ["album/x: AlbumUser x-dan"])
        }
    }

    @Test("27 a partner of the owner gets by the album what no partner gives him")
    func partner() async throws {
        try await run { server, ann, bob, cat in
            try await ann.letRead(bob)
            try await ann.share("x", bob)
            try await bob.sync()
            #expect(bob.has("album/x") == whole && !bob.has("account/\(ann.id)").contains("File c1"))
        }
    }

    @Test("30 unshared and shared again while a device is away: it has what is there then, and nothing else")
    func again() async throws {
        try await run { server, ann, bob, cat in
            try await ann.unshare("x", cat)
            try await ann.unlink("x", "a1")
            try await ann.share("x", cat)
            let story = try await cat.sync()
            #expect(story.filter { $0 == "reset retention" }.count == 4)
            #expect(!cat.has("album/x").contains("File a1") && cat.has("album/x").contains("File a2"))
        }
    }

    @Test("30 unshared and shared again at the server within one transaction, with its clock set back")
    func clock() async throws {
        try await run { server, ann, bob, cat in
            // As if the hour before had been the clock's.
            try await server.execute("UPDATE sync_scope SET clock = clock + 3600000 WHERE id = 'album/x'")
            try await ann.link("x", "a3")
            try await cat.sync()
            try await server.execute(
                """
                CREATE TEMP TABLE kept AS SELECT * FROM album_user;
                DELETE FROM album_user; DELETE FROM album_file WHERE id = 'x-a3';
                INSERT INTO album_user SELECT * FROM kept; DROP TABLE kept
                """)
            try await cat.sync()
            #expect(!cat.has("album/x").contains("File a3") && cat.has("album/x").contains("File a2"))
        }
    }

    @Test("31 with another owner members and links go along, and the old one has what his part in it gives")
    func given() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", bob)
            for person in [ann, bob, cat] { try await person.sync() }
            try await server.execute("UPDATE album SET scopeID = 'account/\(bob.id)' WHERE id = 'x'")
            #expect(try await ann.sync().contains("!album/x"))
            #expect(!ann.has().contains("Album x") && ann.has().contains("File a1"))
            try await bob.sync()
            #expect(bob.has().contains("Album x") && bob.has().contains("AlbumFile x-c1"))
            // Ann owns it no longer and is no member: her files are not in it.
            #expect(bob.has("album/x") == ["File c1"])
            try await bob.share("x", ann, "editor")
            try await bob.sync()
            #expect(bob.has("album/x") == ["File a1", "File a2", "File c1"])
        }
    }
}
