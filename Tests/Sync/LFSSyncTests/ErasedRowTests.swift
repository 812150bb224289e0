import Foundation
import GRDB
import LFS
import Synchronization
import TestSupport
import Testing

@testable import LFSSync

@Suite("Resets of a device with sync tables", .timeLimit(.minutes(10)))
struct ErasedRowTests {
    /// No id has these letters.
    private static let sentinel = "zqxjkvwyh"

    /// Returns the files of the database that contain the sentinel.
    private func found(_ sync: TestSync) throws -> [String] {
        try ["one.sqlite", "one.sqlite-wal"].filter { name in
            let url = sync.folder.appending(path: name)
            guard FileManager.default.fileExists(atPath: url.path) else { return false }
            return try Data(contentsOf: url).range(of: Data(Self.sentinel.utf8)) != nil
        }
    }

    /// Makes a row in each sync table, and free pages with deleted rows.
    private func fill(_ files: FileSync, one: FileDevice) async throws {
        let (device, sync) = (one.device, files.sync)
        _ = try await one.made(Array("\(Self.sentinel) of a file".utf8))
        try await one.lfs.waitForUploads()
        try await device.execute(
            """
            UPDATE lfs_file SET name = '\(Self.sentinel) name';
            INSERT INTO recipe (id, title) VALUES ('r1', '\(Self.sentinel) 1'), ('r2', '\(Self.sentinel) 2');
            WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO recipe (id, title) SELECT 'd' || i, printf('%.*c', 2000, 'x') || '\(Self.sentinel)' FROM n;
            DELETE FROM recipe WHERE id LIKE 'd%'
            """)
        try await one.sync()
        // This row is parked on the first device. The second device does not enforce the limit of the number.
        let two = try await files.device("two")
        try await two.device.database.write { try $0.execute(sql: "PRAGMA ignore_check_constraints = ON") }
        try await two.device.execute(
            "INSERT INTO recipe (id, title, servings) VALUES ('r3', '\(Self.sentinel) 3', 5000)")
        try await two.sync()
        // This change is refused.
        try await sync.execute(
            """
            CREATE TRIGGER closed BEFORE UPDATE OF title ON recipe WHEN NEW.id = 'r1'
            BEGIN SELECT RAISE(ABORT, 'Not today.'); END
            """)
        try await device.execute("UPDATE recipe SET title = '\(Self.sentinel) 4' WHERE id = 'r1'")
        try await one.sync()
        try await sync.execute("DROP TRIGGER closed")
        // This change is in flight.
        try await device.execute("UPDATE recipe SET title = '\(Self.sentinel) 5' WHERE id = 'r2'")
        device.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/push" }
        _ = await #expect(throws: SyncError.self) { try await one.sync() }
    }

    @Test("A reset erases all row contents from the database and restarts sync")
    func erased() async throws {
        try await FileSync.run { files in
            let one = try await files.device("one")
            try await fill(files, one: one)
            for table in ["lfs_sync_outbox", "lfs_sync_rejection", "lfs_sync_parked", "lfs_sync_checkpoint"] {
                #expect(try await one.count(table) > 0, "\(table)")
            }
            #expect(try !found(files.sync).isEmpty)
            try await one.lfs.reset(.everythingIsUploaded) { try $0.execute(sql: "DELETE FROM recipe") }
            #expect(try found(files.sync) == [])
            let kept = ["lfs_sync_state", "lfs_sync_table"]
            let tables = try await one.device.rows(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'lfs^_sync^_%' ESCAPE '^'")
            #expect(tables.count > kept.count)
            for table in tables where !kept.contains(table) { #expect(try await one.count(table) == 0, "\(table)") }
            let state = "SELECT account, batch, sequence, history FROM lfs_sync_state"
            #expect(try await one.device.rows(state) == ["NULL|0|0|NULL"])
            // The next sign-in receives everything again.
            try await one.sync()
            #expect(try await one.device.rows("SELECT id, title FROM recipe ORDER BY id").count == 2)
            #expect(try await one.count("lfs_sync_parked") == 1)
            #expect(try await one.count("lfs_file") == 1)
        }
    }
}
