import Foundation
import GRDB
import Synchronization
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Devices of a server with an older database", .timeLimit(.minutes(10)))
struct OlderServerTests {
    /// Runs a body after the server's file was put back to a copy. Another device has sent a row since then, and the
    /// device of the body has received it and acknowledged one batch. Nobody runs `lfs-server restored`.
    private func run(
        _ body: (_ device: TestSync.Device, SyncService, SQLiteDatabase, SyncHistoryMark) async throws -> Void
    ) async throws {
        try await TestSync.run { sync in
            let (writer, device) = (try await sync.device("writer"), try await sync.device("reader"))
            try await writer.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await writer.sync()
            try await device.sync()
            let first = try await sync.service.compareHistory(with: nil).mark
            let copy = sync.folder.appending(path: "copy.sqlite").path
            try await vacuum(sync, into: copy)
            let mark = try await sync.service.compareHistory(with: first).mark
            try await writer.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Broth')")
            try await writer.sync()
            let before = try await lastBatch(sync.serverDatabase)
            try await device.sync()
            #expect(try await lastBatch(sync.serverDatabase) == before + 1)
            let older = try SQLiteDatabase(path: copy)
            let service = try await SyncService(older, schema: TestSync.schema)
            device.transport.current.withLock { $0 = service }
            try await body(device, service, older, mark)
            await older.close()
        }
    }

    /// Copies the server's database as a backup does.
    private func vacuum(_ sync: TestSync, into path: String) async throws {
        let backup = try DatabaseQueue(path: sync.folder.appending(path: "server.sqlite").path)
        // VACUUM cannot run in a transaction.
        try await backup.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
        try backup.close()
    }

    private func lastBatch(_ database: SQLiteDatabase) async throws -> Int {
        let sql = """
            SELECT lastBatch || '' FROM sync_session WHERE name = 'reader'
            """
        return Int(try await database.read { try $0.firstText(sql, arguments: []) } ?? "") ?? -1
    }

    private func recipes(_ database: SQLiteDatabase) async throws -> String? {
        try await database.read {
            try $0.firstText("SELECT group_concat(id) FROM (SELECT id FROM recipe ORDER BY id)", arguments: [])
        }
    }

    @Test("A device with one batch since the backup sends the rows that the server lacks")
    func oneBatch() async throws {
        try await run { device, service, older, _ in
            #expect(try await recipes(older) == "r1")
            try await device.sync()
            try await device.sync()
            #expect(try await recipes(older) == "r1,r2")
            #expect(try await device.rows("SELECT id FROM recipe ORDER BY id") == ["r1", "r2"])
        }
    }

    @Test("After a detected restore of the server, a device starts over without loss")
    func mark() async throws {
        try await run { device, service, older, mark in
            #expect(try await service.compareHistory(with: mark).wasRestored)
            try await device.sync()
            try await device.sync()
            #expect(try await recipes(older) == "r1,r2")
        }
    }
}
