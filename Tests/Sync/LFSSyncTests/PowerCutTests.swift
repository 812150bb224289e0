import Foundation
import GRDB
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Power cuts of a device", .timeLimit(.minutes(10)))
struct PowerCutTests {
    /// - Parameter isSending: true if the power is cut before the server's reply to a push arrives.
    @Test(
        "After a power cut a device continues without a reset",
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
                // The device acknowledges the other's row, or sends its own row without receiving a reply.
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r3', 'Cake')")
                if isSending {
                    let streamed = one.transport.streamed.withLock { $0 }
                    one.transport.faults.withLock { faults in
                        faults.losesReplyOf = "/v1/sync/push"
                        faults.cutsStreamAfter = streamed
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
                    database: database,
                    client: try await TestSync.client(database, transport: transport, token: one.token),
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

    /// Returns the epochs of all sessions. Each reset raises them.
    private func epochs(_ sync: TestSync) async throws -> [Int64] {
        try await sync.serverDatabase.read { db in
            var epochs: [Int64] = []
            try db.query("SELECT epoch FROM sync_session ORDER BY id", arguments: []) { row in
                epochs.append(try row.integer(0) ?? 0)
                return true
            }
            return epochs
        }
    }
}
