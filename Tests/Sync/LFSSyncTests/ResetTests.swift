import Foundation
import GRDB
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Full resyncs", .timeLimit(.minutes(10)))
struct ResetTests {
    private static let titles = "SELECT id, title FROM recipe ORDER BY id"

    /// Requires a full resync of all sessions.
    private func require(_ reason: SyncReset.Reason, sync: TestSync) async throws {
        try await sync.execute("UPDATE sync_session SET resetReason = '\(reason.rawValue)'")
    }

    @Test("A full resync deletes only the rows that the server no longer has")
    func sweep() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew'), ('r3', 'Pie');
                INSERT INTO step (id, recipeID) VALUES ('s1', 'r1'), ('s2', 'r2')
                """)
            try await one.sync()
            // The row is deleted on the server without a tombstone.
            try await sync.serverDatabase.write { db in
                try db.execute("DELETE FROM recipe WHERE id = 'r2'", arguments: [])
                try db.execute("DELETE FROM sync_tombstone", arguments: [])
            }
            try await require(.operator, sync: sync)
            let emptied = Emptied()
            one.database.add(transactionObserver: emptied, extent: .databaseLifetime)
            try await one.sync()
            #expect(try await one.rows(Self.titles) == ["r1|Soup", "r3|Pie"])
            #expect(try await one.rows("SELECT id FROM step") == ["s1"])
            #expect(emptied.deletions == 2)
            #expect(try await one.sync() == SyncReport())
            for table in ["lfs_sync_pass", "lfs_sync_mark"] {
                #expect(try await one.rows("SELECT count(*) FROM \(table)") == ["0"])
            }
        }
    }

    @Test("A full resync resumes its interrupted deletion of rows")
    func cutSweep() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            for number in 100..<700 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'x')")
            }
            try await one.sync()
            try await sync.serverDatabase.write { db in
                try db.execute("DELETE FROM recipe WHERE id >= 'r150'", arguments: [])
                try db.execute("DELETE FROM sync_tombstone", arguments: [])
            }
            try await require(.operator, sync: sync)
            // The second page of the deletion fails as if the process had ended there.
            let count = "SELECT count(*) FROM recipe"
            try await one.breakDisk()
            try await one.execute(
                """
                CREATE TRIGGER host BEFORE DELETE ON recipe WHEN OLD.id = 'r650'
                BEGIN SELECT broken_disk(); END
                """)
            await #expect(throws: DatabaseError.self) { try await one.sync() }
            let half = try await one.rows(count)
            #expect(half != ["50"] && half != ["600"])
            try await one.execute("DROP TRIGGER host")
            try await one.sync()
            #expect(try await one.rows(count) == ["50"])
        }
    }

    @Test("A full resync keeps pending and refused rows")
    func spared() async throws {
        try await TestSync.run { sync in
            let (ann, bob) = (try await sync.device("ann"), try await sync.device("bob", account: "bob"))
            try await bob.execute("INSERT INTO recipe (id, title) VALUES ('r9', 'His')")
            try await bob.sync()
            try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r9', 'Mine')")
            try await ann.sync()
            #expect(try await ann.rows("SELECT key FROM lfs_sync_rejection") == ["r9"])
            try await require(.operator, sync: sync)
            // The row cannot be sent before the stream because the server refuses all pushes.
            try await ann.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'New')")
            ann.transport.faults.withLock { $0.refusesPushes = true }
            await #expect(throws: SyncError.self) { try await ann.sync() }
            #expect(try await ann.rows(Self.titles) == ["r1|Soup", "r2|New", "r9|Mine"])
            ann.transport.faults.withLock { $0.refusesPushes = false }
            #expect(try await ann.sync().sent == 1)
            #expect(try await ann.rows(Self.titles) == ["r1|Soup", "r2|New", "r9|Mine"])
        }
    }

    @Test("A full resync with a restored server deletes nothing and sends what it lacks")
    func history() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await sync.serverDatabase.write { db in
                try db.execute("DELETE FROM recipe WHERE id = 'r2'", arguments: [])
                try db.execute("DELETE FROM sync_tombstone", arguments: [])
                try db.execute("UPDATE sync_state SET historyID = 'restored'", arguments: [])
            }
            for _ in 0..<2 { for device in [one, two] { try await device.sync() } }
            for device in [one, two] {
                #expect(try await device.rows(Self.titles) == ["r1|Soup", "r2|Stew"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    /// Makes a client with a new session for a device whose session the server has removed.
    private func signInAgain(_ device: TestSync.Device, sync: TestSync) async throws -> TestSync.Device {
        #expect(try await sync.service.endSession(token: device.token))
        let token = try await sync.service.addSession(account: "ann", device: "again")
        let client = try await TestSync.client(device.database, transport: device.transport, token: token)
        return TestSync.Device(database: device.database, client: client, transport: device.transport, token: token)
    }

    @Test("A device that signs in again does not restore rows that others have deleted")
    func signIn() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await two.execute("DELETE FROM recipe WHERE id = 'r2'")
            try await two.sync()
            // The device was away for longer than the server remembers deletions.
            try await sync.execute("DELETE FROM sync_tombstone")
            let again = try await signInAgain(one, sync: sync)
            // The server has ordered the reset already when the device requests the stream again.
            again.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/stream" }
            await #expect(throws: SyncError.self) { try await again.sync() }
            for _ in 0..<2 { for device in [again, two] { try await device.sync() } }
            for device in [again, two] {
                #expect(try await device.rows(Self.titles) == ["r1|Soup"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    @Test("A device that signs in again at a restored server sends the rows that it lacks")
    func signInAfterRestore() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await two.execute("DELETE FROM recipe WHERE id = 'r2'")
            try await two.sync()
            try await sync.execute(
                "DELETE FROM sync_tombstone; UPDATE sync_state SET historyID = 'restored'")
            let again = try await signInAgain(one, sync: sync)
            for _ in 0..<2 { for device in [again, two] { try await device.sync() } }
            for device in [again, two] {
                #expect(try await device.rows(Self.titles) == ["r1|Soup", "r2|Stew"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    @Test("A device that signs in again at a server that went back unnoticed keeps its rows")
    func signInAfterUnnoticedRestore() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            let copy = try await copyServer(sync)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
            for _ in 0..<2 { try await one.sync() }
            let older = try SQLiteDatabase(path: copy)
            let service = try await SyncService(older, schema: TestSync.schema)
            one.transport.current.withLock { $0 = service }
            let token = try await service.addSession(account: "ann", device: "again")
            let client = try await TestSync.client(one.database, transport: one.transport, token: token)
            for _ in 0..<2 { _ = try await client.synchronize() }
            #expect(try await one.rows(Self.titles) == ["r1|Soup", "r2|Stew"])
            #expect(try await recipes(older) == "r1,r2")
            await older.close()
        }
    }

    @Test("A pushed row that a restored server has lost is sent again")
    func lostPush() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            let copy = try await copyServer(sync)
            // The device learns of the acceptance, but acknowledges no batch after the copy.
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/stream" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            let older = try SQLiteDatabase(path: copy)
            let service = try await SyncService(older, schema: TestSync.schema)
            one.transport.current.withLock { $0 = service }
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Pie')")
            for _ in 0..<2 { try await one.sync() }
            #expect(try await one.rows(Self.titles) == ["r1|Soup", "r2|Stew", "r3|Pie"])
            #expect(try await recipes(older) == "r1,r2,r3")
            await older.close()
        }
    }

    @Test("A device sends all rows to a restored server that has none")
    func emptyServer() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.sync()
            let copy = try await copyServer(sync)
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Soup');
                INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')
                """)
            try await one.sync()
            let older = try SQLiteDatabase(path: copy)
            let service = try await SyncService(older, schema: TestSync.schema)
            one.transport.current.withLock { $0 = service }
            for _ in 0..<2 { try await one.sync() }
            #expect(try await one.rows(Self.titles) == ["r1|Soup"])
            #expect(try await one.rows("SELECT id FROM step") == ["s1"])
            #expect(try await recipes(older) == "r1")
            #expect(try await one.sync() == SyncReport())
            #expect(try await one.rows("SELECT keepsAll FROM lfs_sync_state") == ["0"])
            await older.close()
        }
    }

    @Test("An empty device deletes rows again after a full resync with a restored server")
    func emptyDevice() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.sync()
            try await sync.execute("UPDATE sync_state SET historyID = 'restored'")
            try await one.sync()
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew')")
            try await one.sync()
            try await sync.execute("DELETE FROM recipe WHERE id = 'r2'; DELETE FROM sync_tombstone")
            try await require(.retention, sync: sync)
            for _ in 0..<2 { try await one.sync() }
            #expect(try await one.rows(Self.titles) == ["r1|Soup"])
            #expect(try await recipes(sync.serverDatabase) == "r1")
        }
    }

    /// Copies the server's database as a backup does.
    ///
    /// - Returns: the path of the copy.
    private func copyServer(_ sync: TestSync) async throws -> String {
        let path = sync.folder.appending(path: "copy.sqlite").path
        let server = try DatabaseQueue(path: sync.folder.appending(path: "server.sqlite").path)
        // VACUUM cannot run in a transaction.
        try await server.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        try server.close()
        return path
    }

    private func recipes(_ database: SQLiteDatabase) async throws -> String? {
        try await database.read {
            try $0.firstText("SELECT group_concat(id) FROM (SELECT id FROM recipe ORDER BY id)", arguments: [])
        }
    }

    @Test("A device restored from a backup converges with changes made since")
    func olderCopy() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            for device in [one, two] { try await device.sync() }
            let backup = try DatabaseQueue(path: sync.folder.appending(path: "backup.sqlite").path)
            try one.database.backup(to: backup)
            try await one.execute(
                "UPDATE recipe SET title = 'Broth'; INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
            for device in [one, two] { try await device.sync() }
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Pie')")
            try await two.sync()
            try backup.backup(to: one.database)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r4', 'Flan')")
            for device in [one, one, two] { try await device.sync() }
            for device in [one, two] {
                #expect(try await device.rows(Self.titles) == ["r1|Broth", "r2|Stew", "r3|Pie", "r4|Flan"])
                #expect(try await device.sync() == SyncReport())
            }
        }
    }

    @Test("A reset is sent again if the connection ends before its reply")
    func cutAnswer() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            try await require(.operator, sync: sync)
            one.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/ack" }
            await #expect(throws: SyncError.self) { try await one.sync() }
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
            #expect(try await one.sync().sent == 1)
            #expect(try await one.rows(Self.titles) == ["r1|Soup", "r2|Stew"])
            #expect(try await one.sync() == SyncReport())
        }
    }
}

/// An observer that counts deletions from the tables of the tests.
private final class Emptied: TransactionObserver, @unchecked Sendable {
    // Unchecked: only the writer's queue calls it, and the test reads it when no write runs.
    var deletions = 0

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .delete(let table) = kind { return ["recipe", "step"].contains(table) }
        return false
    }

    func databaseDidChange(with event: DatabaseEvent) { deletions += 1 }
    func databaseDidCommit(_ db: Database) {}
    func databaseDidRollback(_ db: Database) {}
}
