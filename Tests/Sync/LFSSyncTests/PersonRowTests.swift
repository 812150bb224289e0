import GRDB
import LFSWire
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Rows of people on devices", .timeLimit(.minutes(10)))
struct PersonRowTests {
    private static let schema = {
        var schema = SharedScopeTests.schema
        schema.tables.append(
            .init("user", columns: [.init("name", kind: .text, isRequired: true), .init("picture", kind: .blob)]))
        schema.people = .init("user")
        return schema
    }()

    @Sendable private static func tables(_ db: Database) throws {
        try SharedScopeTests.tables(db)
        try db.execute(sql: "CREATE TABLE user (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, picture BLOB)")
        try SyncedTable.install("user", in: db)
    }

    private static let names = "SELECT name FROM user ORDER BY name"

    @Test("Members of a shared album see each other's names until the sharing ends")
    func names() async throws {
        try await TestSync.run(schema: Self.schema) { sync in
            let ann = try await sync.device("ann", account: "ann", tables: Self.tables)
            let bob = try await sync.device("bob", account: "bob", tables: Self.tables)
            for device in [ann, bob] { try await device.sync() }
            #expect(try await ann.rows(Self.names) == ["ann"])
            #expect(try await bob.rows(Self.names) == ["bob"])
            let id = try #require(try await sync.service.account(named: "bob"))
            #expect(try await bob.rows("SELECT id FROM user") == [id])
            try await ann.execute(
                """
                INSERT INTO album VALUES ('x', 'Summer');
                INSERT INTO album_user VALUES ('x_\(id)', 'x', '\(id)', 'viewer')
                """)
            try await ann.execute("UPDATE user SET name = 'Ann Lee', picture = x'0102'")
            for device in [ann, bob, ann] { try await device.sync() }
            #expect(try await ann.rows(Self.names) == ["Ann Lee", "bob"])
            #expect(
                try await bob.rows("SELECT name, hex(picture) FROM user ORDER BY name") == ["Ann Lee|0102", "bob|"])
            for device in [ann, bob] {
                #expect(try await device.client.verify().differences == [])
                #expect(try await device.client.verify().problems == [])
            }
            try await ann.execute("DELETE FROM album_user")
            for device in [ann, bob] { try await device.sync() }
            #expect(try await ann.rows(Self.names) == ["Ann Lee"])
            #expect(try await bob.rows(Self.names) == ["bob"])
        }
    }

    @Test("A change of another person's row is refused and undone")
    func foreign() async throws {
        try await TestSync.run(schema: Self.schema) { sync in
            let ann = try await sync.device("ann", account: "ann", tables: Self.tables)
            let bob = try await sync.device("bob", account: "bob", tables: Self.tables)
            for device in [ann, bob] { try await device.sync() }
            let id = try #require(try await sync.service.account(named: "bob"))
            try await ann.execute(
                """
                INSERT INTO album VALUES ('x', 'Summer');
                INSERT INTO album_user VALUES ('x_\(id)', 'x', '\(id)', 'viewer')
                """)
            for device in [ann, bob] { try await device.sync() }
            try await bob.execute("UPDATE user SET name = 'changed'")
            #expect(try await bob.sync().rejected == 1)
            #expect(try await bob.rows(Self.names) == ["ann", "changed"])
            try await bob.execute("DELETE FROM user")
            #expect(try await bob.sync().rejected == 3)
            #expect(try await bob.rows(Self.names) == ["ann", "changed"])
        }
    }
}
