import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSTesting
import Testing

/// Tests with databases of earlier versions of LFS.
@Suite("Migrations of LFS", .timeLimit(.minutes(10)))
struct SchemaTests {
    @Test("A database of version 1 is refused until it is migrated and keeps its rows")
    func fromVersion1() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lfs-test-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let database = try TestHost.open(folder.appendingPathComponent("recipes.sqlite").path)
        try TestHost.migrator.migrate(database, upTo: "lfs.v1")
        let received = ReceivedFile([1, 2, 3])
        let (namespace, id) = try await database.write { db in
            try StateTable.applying(db) { try received.save(db) }
            let namespace = try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state")
            try db.execute(
                sql: """
                    INSERT INTO lfs_job (fileID, state, lane, byteCount, notBefore, errorCode)
                    VALUES (?, 'failed', 0, 3, 7, 'forbidden')
                    """,
                arguments: [received.id])
            try db.execute(
                sql: "INSERT INTO lfs_tombstone (fileID, key, isHeld) VALUES (?, 'a/b', 0)", arguments: [FileID.unknown]
            )
            #expect(try Int.fetchOne(db, sql: "SELECT schemaVersion FROM lfs_state") == 1)
            // Reading the status does not need a migration.
            #expect(try LFSStatus(db).failed == 1)
            return (namespace, received.id)
        }
        let host = TestHost(folder: folder, database: database, storage: InMemoryStorage())
        #expect(await errorCode { _ = try await LFSManager.open(database, options: host.options) } == .notMigrated)
        try TestHost.migrator.migrate(database)
        try await database.read { db in
            #expect(try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state") == namespace)
            #expect(try Int.fetchOne(db, sql: "SELECT schemaVersion FROM lfs_state") == 5)
            #expect(try FileData.fetchOne(db, key: id)?.byteCount == 3)
            let status = try LFSStatus(db)
            #expect(status.failed == 1)
            #expect(status.failingSince == nil)
            #expect(status.hold == nil)
        }
        #expect(try host.count("lfs_tombstone") == 1)
        try await withManager(host) { lfs in
            _ = try await lfs.status()
            try await lfs.waitForDeletions()
        }
        try database.close()
    }

    @Test("Files are found by their content through an index")
    func index() async throws {
        try await withHost { host in
            let plan = try await host.database.read { db in
                try Row.fetchAll(
                    db, sql: "EXPLAIN QUERY PLAN SELECT * FROM lfs_file WHERE sha256 = 'a' AND byteCount = 1"
                ).map { $0["detail"] as String }
            }
            #expect(plan.contains { $0.contains("USING INDEX lfs_file_content (sha256=? AND byteCount=?)") })
        }
    }

    @Test("Files that are not uploaded are counted through an index")
    func localIndex() async throws {
        try await withHost { host in
            let plan = try await host.database.read { db in
                try Row.fetchAll(
                    db, sql: "EXPLAIN QUERY PLAN SELECT count(*) FROM lfs_file WHERE status = 'local'"
                ).map { $0["detail"] as String }
            }
            #expect(plan.contains { $0.contains("USING COVERING INDEX lfs_file_local") }, "\(plan)")
        }
    }

    @Test("A reset deletes the records of originals and the time of the first failure")
    func reset() async throws {
        try await withHost { host in
            try await host.database.write { db in
                let id = SourceID(bytes: Array("/a".utf8))
                try SourceTable.save(SourceRow(id: id, stamp: "1", byteCount: 1, sha256: "a", fileID: nil), db)
                try StateTable.noteFailing(7, db)
                try ResetRows.delete(before: 9, keepsTombstones: false, db) { _ in }
                #expect(try SourceTable.rows([id], db).isEmpty)
                #expect(try StateTable.failingSince(db) == nil)
            }
        }
    }
}
