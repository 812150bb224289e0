import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Contents of shared albums", .timeLimit(.minutes(10)))
struct AlbumTests {
    /// Runs a body with Ann's album x, which contains two of her three files and one of Cat's. Cat is an editor. Bob
    /// has one file and no album.
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
            for key in ["a1", "a2"] { try await ann.link("x", file: key) }
            try await ann.share("x", other: cat, role: "editor")
            try await cat.link("x", file: "c1")
            for person in people { try await person.sync() }
            try await body(server, ann, bob, cat)
            for person in people {
                try await person.sync()
                #expect(try await person.sync() == [])
            }
            // The state that a device assembled from changes equals that of a new device.
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

    @Test("Members receive the owner's changes and the deletion of an album")
    func owner() async throws {
        try await run { server, ann, bob, cat in
            #expect(cat.has("album/x").contains("Album x"))
            #expect(
                try await ann.device.push(.patch, type: "AlbumV1", key: "x", values: ["title": .text("Sea")]).outcome
                    .isApplied)
            #expect(try await cat.sync() == ["album/x: Album x"])
            try await ann.delete("AlbumV1", key: "x")
            #expect(try await cat.sync() == ["!album/x"])
        }
    }

    @Test("A new member receives the whole album, including files of a third account")
    func share() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
            try await bob.sync()
            #expect(bob.has("album/x") == whole)
            let late = try await server.person("bob")
            try await late.sync()
            #expect(late.has("album/x") == whole && late.has() == ["File b1"])
        }
    }

    @Test("A back-fill cut at any line resumes there")
    func cut() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
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

    @Test("An old file added to an album is sent to its members and removed with its link")
    func link() async throws {
        try await run { server, ann, bob, cat in
            try await ann.link("x", file: "a3")
            #expect(try await cat.sync() == ["album/x: File a3", "album/x: AlbumFile x-a3"])
            try await ann.unlink("x", file: "a3")
            #expect(try await Set(cat.sync()) == ["album/x: -File a3", "album/x: -AlbumFile x-a3"])
            #expect(ann.has().contains("File a3"))
        }
    }

    @Test("Each reader of an album receives a changed file once")
    func changed() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
            for person in [ann, bob] { try await person.sync() }
            try await cat.rename("c1", name: "new")
            #expect(try await cat.sync() == ["File c1", "album/x: AlbumUser x-bob"])
            #expect(try await ann.sync() == ["album/x: File c1"])
            #expect(try await bob.sync() == ["album/x: File c1"])
            let remote = ["status": SyncValue.text("remote"), "url": .text("https://store.example/c1")]
            #expect(try await cat.device.push(.patch, type: "FileV1", key: "c1", values: remote).outcome.isApplied)
            #expect(try await bob.sync() == ["album/x: File c1"])
            #expect(bob.rows["album/x"]?["File c1"]?["status"] == .text("remote"))
        }
    }

    @Test("A deleted file and its link disappear for all members")
    func deleted() async throws {
        try await run { server, ann, bob, cat in
            try await cat.delete("FileV1", key: "c1")
            #expect(try await Set(ann.sync()) == ["album/x: -File c1", "album/x: -AlbumFile x-c1", "-AlbumFile x-c1"])
            #expect(cat.has("album/x").contains("AlbumFile x-c1"))
            #expect(try await cat.sync().contains("album/x: -AlbumFile x-c1"))
        }
    }

    @Test("A file stays in an album while another album or another link contains it")
    func both() async throws {
        try await run { server, ann, bob, cat in
            try await ann.album("y")
            try await ann.link("y", file: "a1")
            try await ann.share("y", other: cat)
            try await ann.device.put(
                "AlbumFileV1", key: "again", values: ["albumID": .text("x"), "fileID": .text("a1")])
            try await cat.sync()
            try await ann.unlink("x", file: "a1")
            #expect(try await cat.sync() == ["album/x: -AlbumFile x-a1"])
            try await ann.delete("AlbumFileV1", key: "again")
            #expect(try await Set(cat.sync()) == ["album/x: -AlbumFile again", "album/x: -File a1"])
            #expect(cat.has("album/y").contains("File a1"))
        }
    }

    @Test("A device's own file in a shared album is not sent twice")
    func own() async throws {
        try await run { (server, ann, bob, cat) async throws in
            #expect(ann.has("album/x") == ["File c1"])
            #expect(!cat.has("album/x").contains("File c1") && cat.has() == ["File c1"])
        }
    }

    @Test("All members receive added, changed and removed members")
    func members() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
            #expect(try await ann.sync() == ["AlbumUser x-bob"])
            #expect(try await cat.sync() == ["album/x: AlbumUser x-bob"])
            try await bob.sync()
            #expect(bob.has("album/x").contains("AlbumUser x-cat"))
            #expect(
                try await ann.device.push(.patch, type: "AlbumUserV1", key: "x-bob", values: ["role": .text("editor")])
                    .outcome.isApplied)
            #expect(
                try await server.text(
                    "SELECT role FROM sync_grant WHERE accountID = '\(bob.id)' AND scopeID = 'album/x'") == "editor")
            #expect(try await cat.sync() == ["album/x: AlbumUser x-bob"])
            #expect(try await bob.sync() == ["album/x: AlbumUser x-bob"])
            try await ann.unshare("x", other: bob)
            #expect(try await cat.sync() == ["album/x: -AlbumUser x-bob"])
            #expect(try await Set(ann.sync()) == ["-AlbumUser x-bob", "album/x: -AlbumUser x-bob"])
        }
    }

    @Test("A removed member loses the album and takes his own files out of it")
    func removed() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
            try await bob.sync()
            try await ann.unshare("x", other: bob)
            #expect(try await bob.sync() == ["!album/x"])
            #expect(bob.has() == ["File b1"])
            try await ann.share("x", other: bob)
            try await bob.sync()
            #expect(try await cat.unshare("x", other: cat).isApplied)
            #expect(try await cat.sync() == ["!album/x"])
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: -AlbumUser x-cat", "album/x: -File c1", "album/x: -AlbumFile x-c1",
                ])
            try await ann.share("x", other: cat)
            #expect(
                try await Set(bob.sync()) == [
                    "album/x: AlbumUser x-cat", "album/x: File c1", "album/x: AlbumFile x-c1",
                ])
        }
    }

    @Test("A deleted album is one message and leaves no tombstones in its scope")
    func gone() async throws {
        try await run { server, ann, bob, cat in
            try await ann.delete("AlbumV1", key: "x")
            #expect(try await cat.sync() == ["!album/x"])
            #expect(try await server.count("sync_member") == 0)
            #expect(try await server.count("sync_tombstone", where: "scopeID LIKE 'album/%'") == 0)
        }
    }

    @Test("An album has a scope only while it has another member")
    func unshared() async throws {
        try await run { server, ann, bob, cat in
            try await ann.album("y")
            try await ann.share("y", other: ann)
            #expect(try await server.count("sync_scope", where: "id = 'album/y'") == 0)
            try await ann.unshare("x", other: cat)
            #expect(try await server.count("sync_scope", where: "id = 'album/x'") == 0)
            #expect(try await cat.sync() == ["!album/x"])
            #expect(try await ann.sync().contains("!album/x"))
        }
    }

    @Test("A new viewer repeats nothing for other viewers and sends nothing to strangers")
    func second() async throws {
        try await run { server, ann, bob, cat in
            #expect(bob.has("album/x") == [] && bob.rows.count == 1)
            let dan = try await server.person("dan")
            try await ann.share("x", other: bob)
            try await bob.sync()
            try await ann.share("x", other: dan)
            #expect(try await bob.sync() == ["album/x: AlbumUser x-dan"])
        }
    }

    @Test("A partner in an album also receives the album's files of other accounts")
    func partner() async throws {
        try await run { server, ann, bob, cat in
            try await ann.letRead(bob)
            try await ann.share("x", other: bob)
            try await bob.sync()
            #expect(bob.has("album/x") == whole && !bob.has("account/\(ann.id)").contains("File c1"))
        }
    }

    @Test("A device away during an unshare and reshare receives exactly the current rows")
    func again() async throws {
        try await run { server, ann, bob, cat in
            try await ann.unshare("x", other: cat)
            try await ann.unlink("x", file: "a1")
            try await ann.share("x", other: cat)
            let story = try await cat.sync()
            #expect(story.filter { $0 == "reset retention" }.count == 4)
            #expect(!cat.has("album/x").contains("File a1") && cat.has("album/x").contains("File a2"))
        }
    }

    @Test("A reshare within one transaction with the clock set back leaves no old rows")
    func clock() async throws {
        try await run { server, ann, bob, cat in
            // The scope's clock is an hour ahead, as if the database's clock had been set back.
            try await server.execute("UPDATE sync_scope SET clock = clock + 3600000 WHERE id = 'album/x'")
            try await ann.link("x", file: "a3")
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

    @Test("A transferred album keeps its members and links")
    func given() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: bob)
            for person in [ann, bob, cat] { try await person.sync() }
            try await server.execute("UPDATE album SET scopeID = 'account/\(bob.id)' WHERE id = 'x'")
            #expect(try await ann.sync().contains("!album/x"))
            #expect(!ann.has().contains("Album x") && ann.has().contains("File a1"))
            try await bob.sync()
            #expect(bob.has().contains("Album x") && bob.has().contains("AlbumFile x-c1"))
            // Ann neither owns the album nor is a member, so her files are not in it.
            #expect(bob.has("album/x") == ["File c1"])
            try await bob.share("x", other: ann, role: "editor")
            try await bob.sync()
            #expect(bob.has("album/x") == ["File a1", "File a2", "File c1"])
        }
    }
}
