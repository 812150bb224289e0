import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Partner sharing", .timeLimit(.minutes(10)))
struct PartnerTests {
    /// Runs a body with Ann's two files and one each of Bob and Cat. Ann lets Bob read, and Bob's device has received
    /// everything that he may see.
    private func run(_ body: (TestServer, Person, Person, Person) async throws -> Void) async throws {
        try await SharingServer.run { server in
            let people = [
                try await server.person("ann"), try await server.person("bob"), try await server.person("cat"),
            ]
            let (ann, bob, cat) = (people[0], people[1], people[2])
            for key in ["a1", "a2"] { try await ann.file(key) }
            try await bob.file("b1")
            try await cat.file("c1")
            try await ann.letRead(bob)
            try await bob.sync()
            try await body(server, ann, bob, cat)
            for person in people {
                try await person.sync()
                #expect(try await person.sync() == [])
            }
        }
    }

    @Test("A grant sends all rows of the partner and nothing to others")
    func granted() async throws {
        try await run { (server, ann, bob, cat) async throws in
            #expect(bob.has("account/\(ann.id)") == ["File a1", "File a2", "Partner ann-bob"])
            #expect(bob.has() == ["File b1"])
            #expect(try await cat.sync() == ["File c1"])
        }
    }

    @Test("A partner's back-fill cut at any line resumes there")
    func cut() async throws {
        try await run { server, ann, bob, cat in
            try await ann.file("00000000-0000-0000-0000-000000000000")
            let whole = try await ann.device.lines(types: SharingServer.types).count
            for limit in 0..<whole + 6 {
                let other = try await server.person("bob")
                let first = try await other.sync(cutAfter: limit)
                let second = try await other.sync()
                #expect(Set(first).isDisjoint(with: second))
                #expect(other.has("account/\(ann.id)").count == 4 && other.has().count == 1)
            }
        }
    }

    @Test("A second partner repeats nothing of the first, and both directions coexist")
    func second() async throws {
        try await run { server, ann, bob, cat in
            try await cat.letRead(bob)
            let scope = "account/\(cat.id)"
            #expect(try await bob.sync() == ["\(scope): File c1", "\(scope): Partner cat-bob"])
            try await bob.letRead(ann)
            try await ann.sync()
            #expect(ann.has("account/\(bob.id)") == ["File b1", "Partner bob-ann"])
            #expect(try await bob.sync() == ["Partner bob-ann"])
        }
    }

    @Test("A partner's inserts, updates and deletions arrive")
    func changes() async throws {
        try await run { server, ann, bob, cat in
            let scope = "account/\(ann.id): "
            try await ann.file("a3")
            #expect(try await bob.sync() == [scope + "File a3"])
            try await ann.rename("a3", name: "new")
            #expect(try await bob.sync() == [scope + "File a3"])
            try await ann.delete("FileV1", key: "a3")
            #expect(try await bob.sync() == [scope + "-File a3"])
        }
    }

    @Test("A partner's rows are read-only, and only their owner can grant access")
    func rights() async throws {
        try await run { server, ann, bob, cat in
            #expect(try await bob.rename("a1", name: "mine").code == "forbidden")
            #expect(try await bob.delete("FileV1", key: "a1").code == "forbidden")
            let row: [String: SyncValue] = ["sharedByID": .text(ann.id), "sharedWithID": .text(cat.id)]
            #expect(try await cat.device.put("PartnerV1", key: "p", values: row).outcome.code == "forbidden")
            #expect(try await bob.device.put("PartnerV1", key: "p", values: row).outcome.code == "forbidden")
            // A partner row in the reader's own account grants nothing either.
            try await server.execute(
                """
                INSERT INTO partner (id, "sharedByID", "sharedWithID", scopeID)
                VALUES ('p', '\(ann.id)', '\(cat.id)', 'account/\(cat.id)')
                """)
            #expect(try await Set(cat.sync()) == ["File c1", "Partner p"])
            #expect(try await ann.letRead(ann).code == nil)
            #expect(try await ann.rename("a1", name: "mine").isApplied)
        }
    }

    @Test("A withdrawn grant deletes the scope, and a new grant sends all rows again")
    func withdrawn() async throws {
        try await run { server, ann, bob, cat in
            try await ann.stopLetting(bob)
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
            #expect(try await bob.sync() == [])
            try await ann.letRead(bob)
            #expect(try await bob.sync().count == 3)
        }
    }

    @Test("A grant renewed before the device acknowledges the withdrawal sends all rows")
    func givenAgain() async throws {
        try await run { server, ann, bob, cat in
            try await ann.stopLetting(bob)
            try await bob.sync { try await ann.letRead(bob) }
            #expect(try await bob.sync().count == 3)
        }
    }

    @Test("The reader may end a partner grant")
    func ended() async throws {
        try await run { (server, ann, bob, cat) async throws in
            #expect(try await cat.delete("PartnerV1", key: "ann-bob") == .applied(nil))
            #expect(try await bob.delete("PartnerV1", key: "ann-bob").isApplied)
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
        }
    }

    @Test("A grant withdrawn during a stream stops its rows and deletes those already sent")
    func midStream() async throws {
        try await run { server, ann, bob, cat in
            let other = try await server.person("bob")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO note (id, text, scopeID)
                SELECT 'n' || i, '\(String(repeating: "x", count: 200))', 'account/\(ann.id)' FROM n
                """)
            let request = try WireFormat.encode(SyncStreamRequest(types: SharingServer.types.map { [$0] }))
            let reply = await other.device.service.stream(request, token: other.device.token)
            guard case .stream(let stream) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            var pieces = stream.makeAsyncIterator()
            let first = String(decoding: try #require(try await pieces.next()), as: UTF8.self)
            #expect(first.contains("NoteV1"))
            try await ann.stopLetting(bob)
            var rest = ""
            while let piece = try await pieces.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(!rest.contains("\"type\":\"NoteV1\"") && rest.contains("SyncCompleteV1"))
            #expect(try await other.sync().contains("!account/\(ann.id)"))
        }
    }

    @Test("Deleting a partner's account deletes its scope")
    func deleted() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.file("a1")
            try await ann.letRead(bob)
            try await bob.sync()
            try await server.execute("DELETE FROM sync_scope WHERE id = 'account/\(ann.id)'")
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
        }
    }

    @Test("A file shared by a partner and an album is withdrawn by each separately")
    func twice() async throws {
        try await run { server, ann, bob, cat in
            try await ann.album("x")
            try await ann.link("x", file: "a1")
            try await ann.share("x", other: bob)
            try await bob.sync()
            #expect(bob.has("album/x").contains("File a1") && bob.has("account/\(ann.id)").contains("File a1"))
            try await ann.stopLetting(bob)
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
            #expect(bob.has("album/x").contains("File a1"))
            try await ann.unlink("x", file: "a1")
            #expect(try await Set(bob.sync()) == ["album/x: -File a1", "album/x: -AlbumFile x-a1"])
        }
    }

    @Test("A grant withdrawn during a long absence still deletes the scope")
    func away() async throws {
        try await run { server, ann, bob, cat in
            try await ann.delete("FileV1", key: "a1")
            try await ann.stopLetting(bob)
            try await server.execute(
                "UPDATE sync_scope SET prunedThrough = head WHERE id = 'account/\(ann.id)'",
                "DELETE FROM sync_tombstone WHERE scopeID = 'account/\(ann.id)'")
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
        }
    }

    @Test("A grant's row cannot be redirected by a device, only by the app")
    func update() async throws {
        try await run { server, ann, bob, cat in
            let outcome = try await ann.device.push(
                .patch, type: "PartnerV1", key: "ann-bob", values: ["sharedWithID": .text(cat.id)]
            ).outcome
            #expect(outcome.code == "forbidden")
            try await server.execute("UPDATE partner SET \"sharedWithID\" = '\(cat.id)'")
            #expect(try await bob.sync() == ["!account/\(ann.id)"])
            try await cat.sync()
            #expect(cat.has("account/\(ann.id)").count == 3)
        }
    }
}
