import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Database failures of a device", .timeLimit(.minutes(10)))
struct TroubleTests {
    /// Runs a body with a server that has recipes of one kilobyte each, and a device that has none of them.
    private func run(
        rows: Int = 200, _ body: (TestSync, _ one: TestSync.Device, _ two: TestSync.Device) async throws -> Void
    ) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                INSERT INTO recipe (id, title) SELECT 'r' || i, printf('%.*c', 1000, 'x') FROM n
                """)
            for _ in 0..<2 { try await one.sync() }
            try await body(sync, one, two)
        }
    }

    /// Returns the number of positions of recipes that the session `two` has acknowledged.
    private func acknowledged(_ sync: TestSync) async throws -> String? {
        try await sync.serverDatabase.read { db in
            try db.firstText(
                """
                SELECT count(*) || '' FROM sync_checkpoint c JOIN sync_session s ON s.id = c.sessionID
                WHERE s.name = 'two' AND c.typeName = 'RecipeV1' AND c.position <> ''
                """, arguments: [])
        }
    }

    @Test("A full disk is reported, and its batch is not acknowledged until there is room")
    func fullDisk() async throws {
        try await run { sync, one, two in
            try await two.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 4)")
            }
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) { try await two.sync() }
                #expect(error?.code == .noSpace, "\(String(describing: error))")
                #expect(try await two.rows("SELECT count(*) FROM recipe") == ["0"])
                #expect(try await two.rows("SELECT count(*) FROM lfs_sync_checkpoint WHERE type = 'RecipeV1'") == ["0"])
                #expect(try await acknowledged(sync) == "0")
            }
            try await two.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
            #expect(try await two.sync().received == 200)
            #expect(try await acknowledged(sync) == "1")
        }
    }

    @Test("A database locked by another writer fails the sync as busy until the next one")
    func busy() async throws {
        try await run(rows: 5) { sync, one, two in
            try await two.sync()
            try await one.execute("UPDATE recipe SET title = 'new'")
            try await one.sync()
            let other = try DatabaseQueue(path: sync.folder.appending(path: "two.sqlite").path)
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsPage = (isThere, goOn) }
            let syncing = Task { try await two.sync() }
            await isThere.wait()
            let write = await HeldWrite(other, sql: "UPDATE recipe SET servings = 1 WHERE id = 'r1'", rollsBack: true)
            goOn.open()
            let error = await #expect(throws: DatabaseError.self) { try await syncing.value }
            #expect(error?.resultCode == .SQLITE_BUSY)
            try await write.end()
            #expect(try await two.rows("SELECT count(*) FROM recipe WHERE title = 'new'") == ["0"])
            #expect(try await two.sync().received == 5)
            #expect(try await two.sync() == SyncReport())
            try other.close()
        }
    }

    @Test("Local update ids of files ascend in the order of arrival")
    func updateIDs() async throws {
        try await FileSync.run { files in
            let (one, two) = (try await files.device("one"), try await files.device("two"))
            var last = ""
            for _ in 0..<3 {
                let (theirs, own) = (try await one.uploaded(), try await two.uploaded())
                for device in [one, two] { try await device.sync() }
                let ids = try await two.device.database.read { db in
                    try String.fetchAll(
                        db, sql: "SELECT updateID FROM lfs_file WHERE id IN (?, ?) ORDER BY id = ?",
                        arguments: [own.id.text, theirs.id.text, theirs.id.text])
                }
                // The device's own file was there before the other one arrived.
                #expect(ids.count == 2 && last < ids[0] && ids[0] < ids[1])
                last = ids[1]
            }
        }
    }

    @Test("An app that syncs fewer tables keeps the rows of the others unchanged")
    func fewerTables() async throws {
        try await run(rows: 1) { sync, one, two in
            try await one.execute("INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')")
            for device in [one, two] { try await device.sync() }
            let triggers = CaptureTriggers(try await two.database.read { try SyncedTable("step", in: $0) }).names
            try await two.database.write { db in
                for name in triggers { try db.execute(sql: "DROP TRIGGER \(name)") }
                try db.execute(sql: "DELETE FROM lfs_sync_table WHERE name = 'step'; UPDATE step SET text = 'here'")
            }
            try await one.execute(
                "UPDATE recipe SET title = 'new'; INSERT INTO step (id, recipeID) VALUES ('s2', 'r1')")
            try await one.sync()
            let fewer = try await TestSync.client(two.database, transport: two.transport, token: two.token)
            #expect(try await fewer.synchronize().received == 1)
            #expect(try await two.rows("SELECT id, text FROM step") == ["s1|here"])
            // When the table is installed again, its rows are exchanged in both directions.
            try await two.database.write { try SyncedTable.install("step", in: $0) }
            let again = try await TestSync.client(two.database, transport: two.transport, token: two.token)
            try await again.synchronize()
            #expect(try await two.rows("SELECT id, text FROM step ORDER BY id") == ["s1|here", "s2|NULL"])
            try await one.sync()
            #expect(try await one.rows("SELECT id, text FROM step ORDER BY id") == ["s1|here", "s2|NULL"])
        }
    }

    @Test("A dropped table is named by the error of opening and of syncing")
    func dropped() async throws {
        try await run(rows: 1) { sync, one, two in
            try await two.sync()
            try await one.execute("INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')")
            try await one.sync()
            try await two.execute("INSERT INTO step (id, recipeID) VALUES ('mine', 'r1')")
            try await two.execute("DROP TABLE step")
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) { try await two.sync() }
                #expect(error?.code == .missingTable && error?.message.contains("'step'") == true)
            }
            let error = await #expect(throws: SyncError.self) {
                _ = try await TestSync.client(two.database, transport: two.transport, token: two.token)
            }
            #expect(error?.code == .missingTable && error?.message.contains("'step'") == true)
            try await two.database.write { db in
                try db.execute(sql: "DELETE FROM lfs_sync_outbox")
                try db.create(table: "step") { table in
                    table.primaryKey("id", .text)
                    table.column("recipeID", .text).notNull().references("recipe", onDelete: .cascade)
                    table.column("text", .text)
                }
                try SyncedTable.install("step", in: db)
            }
            let again = try await TestSync.client(two.database, transport: two.transport, token: two.token)
            #expect(try await again.synchronize().received == 1)
        }
    }
}
