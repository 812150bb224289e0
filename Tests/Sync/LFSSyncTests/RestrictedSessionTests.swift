import Foundation
import GRDB
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Devices with restricted sessions", .timeLimit(.minutes(10)))
struct RestrictedSessionTests {
    private func client(
        _ sync: TestSync, of device: TestSync.Device, rights: SyncSessionRights
    ) async throws -> SyncClient {
        let token = try await sync.service.addSession(account: "ann", rights: rights)
        return try await TestSync.client(device.database, transport: device.transport, token: token)
    }

    @Test("A device with a read-only session receives rows and keeps its own changes queued")
    func readOnly() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            var rights = SyncSessionRights()
            rights.isReadOnly = true
            let reader = try await client(sync, of: two, rights: rights)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            #expect(try await reader.synchronize().received == 1)
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Broth')")
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Stew')")
            try await one.sync()
            let error = await #expect(throws: SyncError.self) { try await reader.synchronize() }
            #expect(error?.code == .readOnly)
            // Rows of other devices have arrived although the change cannot be sent.
            #expect(try await two.rows("SELECT id FROM recipe ORDER BY id") == ["r1", "r2", "r3"])
            let report = try #require(try await two.database.read { try SyncReport.fetch($0) })
            #expect(report.pending == 1 && report.rejected == 0)
        }
    }

    @Test("A device whose app needs another type gets an error that names it")
    func types() async throws {
        try await TestSync.run { sync in
            let one = try await sync.device("one")
            var rights = SyncSessionRights()
            rights.types = ["recipe", "lfs_file"]
            let client = try await client(sync, of: one, rights: rights)
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == .typeNotAllowed && error?.message.contains("'Step'") == true)
        }
    }
}
