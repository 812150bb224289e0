import LFSWire
import Testing

@testable import LFSSyncServer

@Suite("What a change of a member costs on SQLite", .timeLimit(.minutes(10)))
struct MemberCostTests {
    /// Ann's album x with so many links, and bob, who is a member.
    private func run(links count: Int, _ body: (TestServer, Person, Person) async throws -> Void) async throws {
        try await SharingServer.run(isQuick: true) { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO lfs_file (id, name, byteCount, sha256, key, createdAt, status, scopeID)
                SELECT 'f' || i, 'f', 1, 'a', 'ann/f' || i, '2026', 'local', 'account/\(ann.id)' FROM n;
                INSERT INTO album_file (id, albumID, fileID, scopeID)
                SELECT 'l' || id, 'x', id, scopeID FROM lfs_file
                """)
            #expect(try await ann.share("x", bob).isApplied)
            #expect(try await server.count("sync_member", where: "isDeleted = 0") == 2 * count + 2)
            try await body(server, ann, bob)
        }
    }

    /// How often SQLite has asked whether to go on, which it does after each 100,000 steps.
    private func questions(_ server: TestServer, _ sql: String) async throws -> Int {
        try await server.database.write { db in
            var count = 0
            let isOver = {
                count += 1
                return false
            }
            try db.limited(to: .seconds(600), until: isOver) { try db.run(script: sql) }
            return count
        }
    }

    @Test("A change of a role looks at no link, however many the album has")
    func role() async throws {
        try await run(links: 2_000) { server, _, bob in
            let sql = "UPDATE album_user SET role = 'editor', albumID = albumID, accountID = accountID"
            let count = try await questions(server, sql)
            #expect(count == 0)
            let select = "SELECT role FROM sync_grant WHERE accountID = '\(bob.id)' AND scopeID = 'album/x'"
            let role = try await server.text(select)
            #expect(role == "editor")
        }
    }

    @Test("A member that comes or goes, with others there, looks at each link once")
    func member() async throws {
        try await run(links: 2_000) { server, ann, _ in
            let cat = try await server.person("cat")
            let joins = """
                INSERT INTO album_user (id, albumID, accountID, role, scopeID)
                VALUES ('x-cat', 'x', '\(cat.id)', 'viewer', 'account/\(ann.id)')
                """
            // Some ten steps for each of 2,000 links, twice.
            #expect(try await questions(server, joins) <= 3)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 3)
            #expect(try await questions(server, "DELETE FROM album_user WHERE id = 'x-cat'") <= 3)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 2)
        }
    }

    @Test("What a member owns in the album comes and goes with its grant")
    func owned() async throws {
        try await run(links: 10) { server, ann, _ in
            let cat = try await server.person("cat")
            #expect(try await ann.share("x", cat, "editor").isApplied)
            try await cat.file("c1")
            #expect(try await cat.link("x", "c1").isApplied)
            let entries = "scopeID = 'album/x' AND isDeleted = 0 AND key IN ('c1', 'x-c1')"
            #expect(try await server.count("sync_member", where: entries) == 2)
            #expect(try await ann.unshare("x", cat).isApplied)
            #expect(try await server.count("sync_member", where: entries) == 0)
            #expect(try await ann.share("x", cat).isApplied)
            #expect(try await server.count("sync_member", where: entries) == 2)
        }
    }

    @Test("A statement of a push that takes too long is ended, and nothing of its transaction stays")
    func ended() async throws {
        try await run(links: 10) { server, _, _ in
            let endless = """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
                UPDATE album SET title = (SELECT count(*) FROM n)
                """
            let failure = await #expect(throws: SQLFailure.self) {
                try await server.database.write { db in
                    try db.execute("UPDATE album SET title = 'begun'", [])
                    _ = try db.limited(to: .seconds(1), until: { true }) {
                        try db.savepoint { try db.execute(endless, []) }
                    }
                }
            }
            #expect(failure?.code == .timeout)
            let title = try await server.text("SELECT title FROM album")
            #expect(title == "x")
            // The connection is as before.
            try await server.execute("UPDATE album SET title = 'after'")
        }
    }

    @Test("A store that an earlier server has made gets the index of links by their container and content")
    func index() async throws {
        try await SharingServer.run { server in
            let (name, old) = (
                "sync_album_file_albumID", "CREATE INDEX \"sync_album_file_albumID\" ON \"album_file\"(\"albumID\")"
            )
            try await server.execute(
                "DROP INDEX \(name)", old,
                "UPDATE sync_object SET source = '\(old)', definition = '\(old)' WHERE name = '\(name)'")
            _ = try await SyncService(server.database, schema: SharingServer.schema)
            let sql = "SELECT sql FROM sqlite_master WHERE name = '\(name)'"
            #expect(try await server.text(sql)?.hasSuffix("(\"albumID\", \"fileID\")") == true)
        }
    }
}
