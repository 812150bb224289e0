import Foundation
import GRDB
import LFSWire
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Sharing between accounts", .timeLimit(.minutes(10)))
struct SharedScopeTests {
    static let schema = SyncSchema(
        tables: [
            .init("album", columns: [.init("title", kind: .text)]),
            .init(
                "album_user",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("accountID", kind: .text, isRequired: true), .init("role", kind: .text),
                ]),
            .init(
                "album_file",
                columns: [
                    .init("albumID", kind: .text, isRequired: true, parent: .init("album", onDelete: .cascade)),
                    .init("fileID", kind: .text, isRequired: true, parent: .init("lfs_file", onDelete: .cascade)),
                ]),
            .init(
                "partner",
                columns: [
                    .init("sharedByID", kind: .text, isRequired: true),
                    .init("sharedWithID", kind: .text, isRequired: true),
                ]),
        ],
        containers: [.init("album", members: "album_user", links: "album_file", of: "lfs_file")],
        partners: .init("partner", from: "sharedByID", to: "sharedWithID"))

    @Sendable static func tables(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE album (id TEXT PRIMARY KEY NOT NULL, title TEXT);
                CREATE TABLE album_user (
                    id TEXT PRIMARY KEY NOT NULL, albumID TEXT NOT NULL REFERENCES album(id) ON DELETE CASCADE,
                    accountID TEXT NOT NULL, role TEXT);
                CREATE TABLE album_file (
                    id TEXT PRIMARY KEY NOT NULL, albumID TEXT NOT NULL REFERENCES album(id) ON DELETE CASCADE,
                    fileID TEXT NOT NULL REFERENCES lfs_file(id) ON DELETE CASCADE);
                CREATE TABLE partner (
                    id TEXT PRIMARY KEY NOT NULL, sharedByID TEXT NOT NULL, sharedWithID TEXT NOT NULL);
                """)
        for table in ["album", "album_user", "album_file", "partner"] { try SyncedTable.install(table, in: db) }
    }

    private struct Person {
        let id: String
        let device: TestSync.Device
        let sync: TestSync

        /// Makes the row of a file as a device that has its bytes does.
        func file(_ number: Int) async throws -> String {
            let id = SharedScopeTests.file(number)
            try await device.execute(
                """
                UPDATE lfs_state SET isApplying = 1;
                INSERT INTO lfs_file (id, name, byteCount, sha256, key, createdAt, status, url)
                VALUES ('\(id)', 'f\(number)', 1, '\(String(repeating: "a", count: 64))', 'space\(self.id)/f\(number)',
                    '2026-01-01 00:00:00.000', 'remote', 'memory:///f\(number)');
                UPDATE lfs_state SET isApplying = 0;
                INSERT INTO lfs_sync_outbox (tableName, key, operation) VALUES ('lfs_file', '\(id)', 'put')
                """)
            return id
        }

        func has(_ table: String = "lfs_file") async throws -> [String] {
            try await device.rows("SELECT id FROM \(table) ORDER BY id")
        }

        func names() async throws -> [String] { try await device.rows("SELECT name FROM lfs_file ORDER BY name") }

        func link(_ album: String, file: String) async throws {
            try await device.execute("INSERT INTO album_file VALUES ('\(album)-\(file)', '\(album)', '\(file)')")
        }

        func share(_ album: String, other: Person, role: String = "viewer") async throws {
            try await device.execute(
                "INSERT INTO album_user VALUES ('\(album)-\(other.id)', '\(album)', '\(other.id)', '\(role)')")
        }

        func letRead(_ other: Person) async throws {
            try await device.execute("INSERT INTO partner VALUES ('p\(id)\(other.id)', '\(id)', '\(other.id)')")
        }
    }

    private static func file(_ number: Int) -> String { "0197b214-ba2c-7c71-89d1-4bbb56a51d\(10 + number)" }

    private func person(_ name: String, sync: TestSync, device: String? = nil) async throws -> Person {
        let device = try await sync.device(device ?? name, account: name, tables: Self.tables)
        return Person(id: try #require(try await sync.service.account(named: name)), device: device, sync: sync)
    }

    private func run(_ body: (TestSync) async throws -> Void) async throws {
        try await TestSync.run(schema: Self.schema, body)
    }

    @Test("A shared album arrives, changes and leaves without affecting own rows")
    func workedExample() async throws {
        try await run { sync in
            let (a, b, c) = (
                try await person("a", sync: sync), try await person("b", sync: sync), try await person("c", sync: sync)
            )
            for person in [b, c] { try await person.device.sync() }
            let own = try await b.file(9)
            try await b.device.sync()
            let (a1, a2) = (try await a.file(1), try await a.file(2))
            try await a.device.execute("INSERT INTO album VALUES ('x', 'Sea')")
            try await a.share("x", other: c, role: "editor")
            for file in [a1, a2] { try await a.link("x", file: file) }
            try await a.device.sync()
            try await c.device.sync()
            let c1 = try await c.file(3)
            try await c.link("x", file: c1)
            try await c.device.sync()
            try await a.device.sync()
            try await a.share("x", other: b)
            try await a.device.sync()
            #expect(try await b.device.sync().received == 3 + 1 + 2 + 3)
            #expect(try await b.has() == [a1, a2, c1, own])
            #expect(try await b.has("album_file").count == 3)
            try await c.device.execute("UPDATE lfs_file SET name = 'renamed' WHERE id = '\(c1)'")
            try await c.device.sync()
            for person in [a, b] {
                #expect(try await person.device.sync().received == 1)
                #expect(try await person.names().contains("renamed"))
            }
            // The verification covers five own tables and those of the album.
            for person in [a, b, c] { #expect(try await person.device.client.verify().differences == []) }
            try await b.device.execute("DELETE FROM lfs_sync_member WHERE key = '\(a1)'")
            let lost = try await b.device.client.verify().differences
            #expect(
                lost.map { "\($0.type) \($0.scope ?? "own") \($0.here) \($0.there) \($0.isMended)" }
                    == ["FileV1 own 2 1 true", "FileV1 album/x 2 3 true"])
            try await a.device.execute("DELETE FROM album_user WHERE accountID = '\(b.id)'")
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has() == [own])
            for table in ["album", "album_user", "album_file", "lfs_sync_parked"] {
                #expect(try await b.device.rows("SELECT count(*) FROM \(table)") == ["0"], "\(table)")
            }
            try await c.device.sync()
            for person in [a, b, c] { #expect(try await person.device.sync() == SyncReport()) }
        }
    }

    @Test("Shared rows in an interrupted first stream are not recorded as own rows")
    func cutFirst() async throws {
        try await run { sync in
            let (a, b) = (try await person("a", sync: sync), try await person("b", sync: sync))
            for number in 1...9 { _ = try await a.file(number) }
            try await a.device.execute("INSERT INTO album VALUES ('x', 'Sea')")
            for number in 1...9 { try await a.link("x", file: Self.file(number)) }
            try await a.share("x", other: b)
            try await a.letRead(b)
            try await a.device.sync()
            for cut in [1_000, 2_500, 4_000, 5_500] {
                let late = try await person("b", sync: sync, device: "late\(cut)")
                late.device.transport.faults.withLock { $0.cutsStreamAfter = cut }
                await #expect(throws: SyncError.self) { try await late.device.sync() }
                late.device.transport.faults.withLock { $0.cutsStreamAfter = nil }
                let before = try await late.has()
                #expect(before.count < 10)
                try await late.device.sync()
                #expect(try await late.has().count == 9)
                #expect(
                    try await late.device.rows("SELECT count(*) FROM lfs_sync_member WHERE tableName = 'lfs_file'")
                        == ["18"])
            }
            try await b.device.sync()
            try await a.device.execute("DELETE FROM partner; DELETE FROM album_user")
            try await a.device.sync()
            for name in ["late1000", "late4000"] {
                let token = try await sync.service.addSession(account: "b")
                _ = token
                let database = try DatabasePool(path: sync.folder.appending(path: "\(name).sqlite").path)
                #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM lfs_file") } == 9)
                try database.close()
            }
            try await b.device.sync()
            #expect(try await b.has() == [])
        }
    }

    @Test("A file stays while a partner or an album shares it", arguments: [true, false])
    func two(partnerFirst: Bool) async throws {
        try await run { sync in
            let (a, b) = (try await person("a", sync: sync), try await person("b", sync: sync))
            let file = try await a.file(1)
            try await a.device.execute("INSERT INTO album VALUES ('x', 'Sea')")
            try await a.link("x", file: file)
            try await a.share("x", other: b)
            try await a.letRead(b)
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has() == [file])
            let ends = ["DELETE FROM partner", "DELETE FROM album_user"]
            try await a.device.execute(ends[partnerFirst ? 0 : 1])
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has() == [file])
            try await a.device.execute(ends[partnerFirst ? 1 : 0])
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has() == [])
            #expect(try await b.device.rows("SELECT count(*) FROM lfs_sync_member") == ["0"])
        }
    }

    @Test("An owner's deletion of an editor's link arrives even after a lost reply", arguments: [false, true])
    func lateLink(isReset: Bool) async throws {
        try await run { sync in
            let (a, b) = (try await person("a", sync: sync), try await person("b", sync: sync))
            let other = try await person("b", sync: sync, device: "other")
            try await a.device.execute("INSERT INTO album VALUES ('x', 'Sea')")
            try await a.share("x", other: b, role: "editor")
            try await a.device.sync()
            for person in [b, other] { try await person.device.sync() }
            let file = try await b.file(1)
            try await b.link("x", file: file)
            b.device.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
            await #expect(throws: SyncError.self) { try await b.device.sync() }
            // The change of the other device is newer than the link, and arrives before the repeated reply.
            try await other.device.sync()
            try await other.device.execute("INSERT INTO album VALUES ('y', 'Hills')")
            try await other.link("y", file: file)
            try await other.device.sync()
            if isReset { try await sync.execute("UPDATE sync_session SET resetReason = 'operator'") }
            b.device.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await b.device.sync() }
            b.device.transport.faults.withLock { $0.refusesPushes = false }
            #expect(try await b.device.sync().parked == 0)
            #expect(
                try await b.device.rows("SELECT scope FROM lfs_sync_member WHERE tableName = 'album_file'")
                    == ["album/x"])
            #expect(try await b.device.rows("SELECT * FROM lfs_sync_outbox") == [])
            try await a.device.sync()
            try await a.device.execute("DELETE FROM album_file")
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has("album_file") == ["y-\(file)"])
        }
    }

    @Test("A shared scope is resynced when its deletions were pruned")
    func retention() async throws {
        try await run { sync in
            let (a, b) = (try await person("a", sync: sync), try await person("b", sync: sync))
            let files = [try await a.file(1), try await a.file(2)]
            try await a.device.execute("INSERT INTO album VALUES ('x', 'Sea')")
            for file in files { try await a.link("x", file: file) }
            try await a.share("x", other: b)
            try await a.device.sync()
            try await b.device.sync()
            #expect(try await b.has() == files)
            try await a.device.execute("DELETE FROM lfs_file WHERE id = '\(files[0])'")
            try await a.device.sync()
            try await a.device.sync()
            try await sync.serverDatabase.write { db in
                try db.execute("UPDATE sync_scope SET prunedThrough = head", arguments: [])
                try db.execute("DELETE FROM sync_tombstone", arguments: [])
                try db.execute("DELETE FROM sync_member WHERE isDeleted = 1", arguments: [])
            }
            try await b.device.sync()
            #expect(try await b.has() == [files[1]])
            #expect(try await b.has("album_file").count == 1)
            #expect(try await b.device.sync() == SyncReport())
        }
    }
}
