import Testing

@testable import LFSServerPostgres
@testable import LFSSyncServer

@Suite("An album of many links on PostgreSQL", .timeLimit(.minutes(10)))
struct LargeAlbumTests {
    private static let count = 2_000

    /// Statements of one kind after the other: who comes or goes, and what happens to the album.
    private static func changes(_ ann: Person, bob: Person, cat: Person) -> [String] {
        func joins(_ id: String, person: Person) -> String {
            """
            INSERT INTO album_user (id, "albumID", "accountID", role, scopeID)
            VALUES ('\(id)', 'x', '\(person.id)', 'editor', 'account/\(ann.id)')
            """
        }
        return [
            joins("u1", person: bob), joins("u2", person: cat), "DELETE FROM album_user WHERE id = 'u1'",
            joins("u3", person: bob),
            "DELETE FROM album_user", joins("u4", person: bob), "DELETE FROM album WHERE id = 'x'",
        ]
    }

    @Test("Member changes and a deletion read each link of an album only a few times")
    func reads() async throws {
        try await TestStore.run { database in
            let service = try await SyncService(database, schema: SharingServer.schema)
            let server = TestServer(database: database, service: service)
            let (ann, bob, cat) = (
                try await server.person("ann"), try await server.person("bob"), try await server.person("cat")
            )
            try await ann.album("x")
            for person in [ann, bob] {
                try await server.execute(
                    """
                    INSERT INTO lfs_file (id, name, "byteCount", sha256, key, "createdAt", status, scopeID)
                    SELECT '\(person.name)' || i, 'f', 1, 'a', '\(person.name)/' || i, '2026', 'local',
                        'account/\(person.id)' FROM generate_series(1, \(Self.count)) i
                    """)
            }
            try await server.execute(
                """
                INSERT INTO album_file (id, "albumID", "fileID", scopeID)
                SELECT 'l' || id, 'x', id, 'account/\(ann.id)' FROM lfs_file
                """,
                // PostgreSQL takes the tables of what is shared for empty from now on.
                "ANALYZE sync_member, sync_grant, sync_scope, sync_tombstone, album_user")
            for change in Self.changes(ann, bob: bob, cat: cat) {
                let reads = try await database.write { db in
                    let before = try PlanTests.reads(db)
                    try db.run(script: change)
                    return try PlanTests.reads(db).map { $0.value - before[$0.key, default: 0] }.reduce(0, +)
                }
                // Of two accounts, and for each link its file.
                #expect(reads < Int64(4 * Self.count * 40), "\(change): \(reads)")
                let places = "SELECT count(*) || ' ' || max(updateID) FROM sync_member WHERE scopeID = 'album/x'"
                let heads = "SELECT count(DISTINCT m.updateID) || ' ' || max(s.head) FROM sync_scope s, sync_member m"
                #expect(
                    try await server.text(places)
                        == server.text("\(heads) WHERE s.id = 'album/x' AND m.scopeID = s.id"))
            }
            #expect(try await server.count("sync_member") == 0)
            #expect(try await server.count("sync_tombstone", where: "tableName = 'album_file'") == 2 * Self.count)
        }
    }
}
