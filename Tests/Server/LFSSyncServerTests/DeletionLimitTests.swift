import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Limits of the records of deletions", .timeLimit(.minutes(10)))
struct DeletionLimitTests {
    /// Creates a number of notes of an account, and deletes them in the order of their ids, from `gone10001` on.
    private func churn(_ server: TestServer, notes count: Int, of person: Person, name: String = "gone") async throws {
        try await server.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO note (id, text, scopeID) SELECT '\(name)' || (10000 + i), 'x', 'account/\(person.id)' FROM n
            """, "DELETE FROM note WHERE id LIKE '\(name)%'")
    }

    private func note(_ person: Person, key: String) async throws -> Bool {
        try await person.device.put("NoteV1", key: key, values: ["text": .text("x")]).outcome.isApplied
    }

    @Test("Rows that come and go for ever leave a limited number of records")
    func own() async throws {
        try await SharingServer.run { server in
            let ann = try await server.person("ann")
            try await churn(server, notes: 12_500, of: ann)
            #expect(try await server.count("sync_tombstone") == 12_500)
            for number in 1...5 {
                // Deletions and creations are accepted all the time.
                #expect(try await note(ann, key: "n\(number)"))
                #expect(try await ann.delete("NoteV1", key: "n\(number)").isApplied)
            }
            #expect(try await server.count("sync_tombstone") <= DeletionLimit.ofAccount)
            #expect(try await server.wrongCounters() == nil)
            // The oldest ones were removed.
            #expect(try await server.count("sync_tombstone", where: "key IN ('gone10001', 'gone10002')") == 0)
            #expect(try await server.count("sync_tombstone", where: "key IN ('gone22500', 'n5')") == 2)
        }
    }

    @Test("A device that lacks removed records starts over, and others do not")
    func devices() async throws {
        try await SharingServer.run { server in
            let (ann, here, away) = (
                try await server.person("ann"), try await server.person("ann"), try await server.person("ann")
            )
            for key in ["n1", "n2"] { #expect(try await note(ann, key: key)) }
            for device in [here, away] { try await device.sync() }
            try await churn(server, notes: 12_500, of: ann)
            #expect(try await here.sync().count == 12_500)
            #expect(try await ann.delete("NoteV1", key: "n1").isApplied)
            for key in ["n3", "n4"] { #expect(try await note(ann, key: key)) }
            #expect(try await here.sync() == ["-Note n1", "Note n3", "Note n4"])
            let story = try await away.sync()
            #expect(story.first == "reset retention")
            for device in [here, away] {
                #expect(device.has() == ["Note n2", "Note n3", "Note n4"])
                #expect(try await device.sync() == [])
            }
        }
    }

    @Test("An account with more rows than deletions keeps all records, and reads none")
    func balanced() async throws {
        try await TestServer.watched(schema: SharingServer.schema) { server, database in
            let ann = try await server.person("ann")
            try await churn(server, notes: 10_100, of: ann, name: "kept")
            try await churn(server, notes: 10_100, of: ann, name: "gone")
            // A deleted row that is created again has no record.
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10100)
                INSERT INTO note (id, text, scopeID) SELECT 'kept' || (10000 + i), 'x', 'account/\(ann.id)' FROM n
                """)
            #expect(try await server.count("sync_tombstone") == 10_100)
            database.clear()
            #expect(try await note(ann, key: "n1"))
            #expect(!database.statements.contains { $0.contains("sync_tombstone") })
            #expect(try await server.count("sync_tombstone") == 10_100)
            #expect(try await server.wrongCounters() == nil)
        }
    }

    @Test("A shared album whose links come and go keeps a limited number of records")
    func shared() async throws {
        try await SharingServer.run { server in
            let (ann, bob, late) = (
                try await server.person("ann"), try await server.person("bob"), try await server.person("bob")
            )
            try await ann.album("x")
            try await ann.share("x", other: bob)
            try await ann.file("a1")
            try await ann.link("x", file: "a1")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
                INSERT INTO lfs_file (id, name, "byteCount", sha256, key, "createdAt", status, scopeID)
                SELECT 'f' || i, 'f', 1, 'a', 'ann/f' || i, '2026', 'local', 'account/\(ann.id)' FROM n
                """,
                """
                INSERT INTO album_file (id, "albumID", "fileID", scopeID)
                SELECT 'l' || id, 'x', id, scopeID FROM lfs_file WHERE id LIKE 'f%'
                """)
            try await late.sync()
            #expect(late.has("album/x").count == 1_404)
            try await server.execute("DELETE FROM album_file WHERE id LIKE 'lf%'")
            #expect(try await server.count("sync_member", where: "isDeleted = 1") == 1_400)
            try await bob.sync()
            try await ann.file("a2")
            #expect(try await server.count("sync_member", where: "isDeleted = 1") == 1_400)
            #expect(try await ann.link("x", file: "a2").isApplied)
            #expect(try await server.count("sync_member", where: "isDeleted = 1") == 700)
            #expect(try await server.wrongCounters() == nil)
            let story = try await late.sync()
            #expect(story.filter { $0 == "reset retention" }.count == 4)
            #expect(try await bob.sync() == ["album/x: File a2", "album/x: AlbumFile x-a2"])
            for device in [bob, late] {
                #expect(
                    device.has("album/x")
                        == ["Album x", "AlbumFile x-a1", "AlbumFile x-a2", "AlbumUser x-bob", "File a1", "File a2"])
            }
        }
    }

    @Test("The links of an editor limit the records of the album's owner")
    func editor() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await ann.share("x", other: bob, role: "editor")
            try await bob.file("b1")
            try await churn(server, notes: 10_100, of: ann)
            #expect(try await bob.link("x", file: "b1").isApplied)
            #expect(try await server.count("sync_tombstone", where: "scopeID = 'account/\(ann.id)'") == 8_100)
            #expect(try await server.wrongCounters() == nil)
        }
    }

    @Test("Counters follow every kind of change, and a recount finds them right")
    func counters() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for key in ["a1", "a2", "a3"] { try await ann.file(key) }
            try await ann.album("x")
            for key in ["a1", "a2", "a3"] { try await ann.link("x", file: key) }
            try await ann.share("x", other: bob, role: "editor")
            try await bob.file("b1")
            try await bob.link("x", file: "b1")
            #expect(try await server.wrongCounters() == nil)
            #expect(try await server.count("sync_scope", where: "id = 'album/x' AND rowCount = 10") == 1)
            try await ann.delete("FileV1", key: "a1")
            try await ann.unlink("x", file: "a2")
            try await server.execute("UPDATE lfs_file SET scopeID = 'account/\(bob.id)' WHERE id = 'a3'")
            #expect(try await server.wrongCounters() == nil)
            #expect(try await server.count("sync_scope", where: "id = 'album/x' AND deletionCount = 4") == 1)
            try await ann.unshare("x", other: bob)
            try await ann.file("a1")
            try await ann.share("x", other: bob)
            #expect(try await server.wrongCounters() == nil)
            #expect(try await server.service.recount() == 0)
            try await server.execute("UPDATE sync_scope SET deletionCount = 77, rowCount = 77")
            #expect(try await server.service.recount() == 2)
            #expect(try await server.wrongCounters() == nil)
        }
    }
}

extension TestServer {
    /// Returns a scope whose counters differ from its records of deletions or its entries. Nil if they are right.
    func wrongCounters() async throws -> String? {
        let entries = "SELECT count(*) FROM sync_member m WHERE m.scopeID = s.id AND m.isDeleted ="
        return try await text(
            """
            SELECT s.id || ' ' || s.rowCount || ' ' || s.deletionCount FROM sync_scope s
            WHERE s.deletionCount <> (\(entries) 1) + (SELECT count(*) FROM sync_tombstone d WHERE d.scopeID = s.id)
                OR s.id NOT LIKE 'account/%' AND s.rowCount <> (\(entries) 0)
            """)
    }
}
