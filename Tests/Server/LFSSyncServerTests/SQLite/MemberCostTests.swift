import LFSWire
import Testing

@testable import LFSSyncServer

@Suite("Costs of member changes on SQLite", .timeLimit(.minutes(10)))
struct MemberCostTests {
    /// Runs a body with Ann's album x, which has a number of links, and the member Bob.
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
            #expect(try await ann.share("x", other: bob).isApplied)
            #expect(try await server.count("sync_member", where: "isDeleted = 0") == 2 * count + 2)
            try await body(server, ann, bob)
        }
    }

    /// Returns the number of progress callbacks, which SQLite makes every 100,000 steps.
    private func questions(_ server: TestServer, sql: String) async throws -> Int {
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

    @Test("A change of a role reads no links of the album")
    func role() async throws {
        try await run(links: 2_000) { server, _, bob in
            let sql = "UPDATE album_user SET role = 'editor', albumID = albumID, accountID = accountID"
            let count = try await questions(server, sql: sql)
            #expect(count == 0)
            let select = "SELECT role FROM sync_grant WHERE accountID = '\(bob.id)' AND scopeID = 'album/x'"
            let role = try await server.text(select)
            #expect(role == "editor")
        }
    }

    @Test("Adding or removing a member reads each link once")
    func member() async throws {
        try await run(links: 2_000) { server, ann, _ in
            let cat = try await server.person("cat")
            let joins = """
                INSERT INTO album_user (id, albumID, accountID, role, scopeID)
                VALUES ('x-cat', 'x', '\(cat.id)', 'viewer', 'account/\(ann.id)')
                """
            // About ten steps for each of 2,000 links, twice.
            #expect(try await questions(server, sql: joins) <= 3)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 3)
            #expect(try await questions(server, sql: "DELETE FROM album_user WHERE id = 'x-cat'") <= 3)
            #expect(try await server.count("sync_grant", where: "scopeID = 'album/x'") == 2)
        }
    }

    @Test("A member's own files in the album come and go with the member's grant")
    func owned() async throws {
        try await run(links: 10) { server, ann, _ in
            let cat = try await server.person("cat")
            #expect(try await ann.share("x", other: cat, role: "editor").isApplied)
            try await cat.file("c1")
            #expect(try await cat.link("x", file: "c1").isApplied)
            let entries = "scopeID = 'album/x' AND isDeleted = 0 AND key IN ('c1', 'x-c1')"
            #expect(try await server.count("sync_member", where: entries) == 2)
            #expect(try await ann.unshare("x", other: cat).isApplied)
            #expect(try await server.count("sync_member", where: entries) == 0)
            #expect(try await ann.share("x", other: cat).isApplied)
            #expect(try await server.count("sync_member", where: entries) == 2)
        }
    }

    @Test("A push statement that exceeds its time is ended and its transaction rolled back")
    func ended() async throws {
        try await run(links: 10) { server, _, _ in
            let endless = """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
                UPDATE album SET title = (SELECT count(*) FROM n)
                """
            let failure = await #expect(throws: SQLFailure.self) {
                try await server.database.write { db in
                    try db.execute("UPDATE album SET title = 'begun'", arguments: [])
                    _ = try db.limited(to: .seconds(1), until: { true }) {
                        try db.savepoint { try db.execute(endless, arguments: []) }
                    }
                }
            }
            #expect(failure?.code == .timeout)
            let title = try await server.text("SELECT title FROM album")
            #expect(title == "x")
            // The connection still works.
            try await server.execute("UPDATE album SET title = 'after'")
        }
    }

    @Test("A store of an earlier server gets the index of links by container and content")
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
