import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("A device whose power goes", .timeLimit(.minutes(10)))
struct PowerCutTests {
    /// - Parameter isSending: whether the power goes before any answer to what the device has sent.
    @Test(
        "goes on where it was, and neither it nor the server takes it for an older copy of itself",
        .enabled(if: PulledDisk.isAvailable, "needs root to mount, mkfs.ext4 and xfs_io"),
        arguments: [false, true])
    func power(isSending: Bool) async throws {
        try await PulledDisk.with { disk in
            try await TestSync.run { sync in
                let one = try await sync.device("one", in: disk.folder)
                let two = try await sync.device("two")
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
                try await one.sync()
                try await two.execute("INSERT INTO recipe (id, title) VALUES ('r2', 'Stew')")
                try await two.sync()
                // It hears of the other's row and says so, or has sent one of its own and heard nothing.
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Cake')")
                if isSending {
                    let streamed = one.transport.streamed.withLock { $0 }
                    one.transport.faults.withLock { faults in
                        (faults.losesReplyOf, faults.cutsStreamAfter) = ("/v1/sync/push", streamed)
                    }
                    await #expect(throws: SyncError.self) { try await one.sync() }
                } else {
                    try await one.sync()
                }
                let epochs = try await epochs(sync)
                try disk.pull(isUnmounted: false)
                await one.client.shutdown()
                // Its files cannot be written any more.
                try? one.database.close()
                try disk.putBack(wasUnmounted: false)

                let database = try DatabasePool(path: disk.folder.appending(path: "one.sqlite").path)
                let transport = ServiceTransport(sync.service)
                let again = TestSync.Device(
                    database: database, client: try await TestSync.client(database, transport, one.token),
                    transport: transport, token: one.token)
                try await again.execute("INSERT INTO recipe (id, title) VALUES ('r4', 'Pie')")
                let report = try await again.sync()
                #expect(report.pending == 0 && report.rejected == 0)
                #expect(try await self.epochs(sync) == epochs)
                #expect(try await again.rows("SELECT id FROM recipe ORDER BY id") == ["r1", "r2", "r3", "r4"])
                await again.client.shutdown()
                try database.close()
            }
        }
    }

    /// They rise with each reset.
    private func epochs(_ sync: TestSync) async throws -> [Int64] {
        try await sync.serverDatabase.read { db in
            var epochs: [Int64] = []
            try db.query("SELECT epoch FROM sync_session ORDER BY id", []) { row in
                epochs.append(try row.integer(0) ?? 0)
                return true
            }
            return epochs
        }
    }
}
