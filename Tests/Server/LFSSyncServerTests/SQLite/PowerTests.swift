import Foundation
import TestSupport
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Power cuts of the server", .timeLimit(.minutes(10)))
struct PowerTests {
    @Test(
        "A mutation reported as applied survives a power cut",
        .enabled(if: PulledDisk.isAvailable, "needs root to mount, mkfs.ext4 and xfs_io"))
    func power() async throws {
        try await PulledDisk.with { disk in
            let path = disk.folder.appendingPathComponent("sync.sqlite").path
            let database = try SQLiteDatabase(path: path)
            let service = try await SyncService(database, schema: TestServer.schema)
            let device = try await TestServer(database: database, service: service).device()
            for number in 1...20 {
                let outcome = try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
                    .outcome
                #expect(outcome.isApplied)
            }
            // All data that was not synced to the disk is lost.
            try disk.pull(isUnmounted: false)
            await #expect(throws: (any Error).self) {
                try await database.write { try $0.run(script: "UPDATE recipe SET title = 'x'") }
            }
            await database.close()
            try disk.putBack(wasUnmounted: false)
            let again = try SQLiteDatabase(path: path)
            let next = TestDevice(
                service: try await SyncService(again, schema: TestServer.schema), token: device.token)
            #expect(try await next.delivery().items == (1...20).map { "Recipe r\($0)" })
            next.sequence = device.sequence
            #expect(try await next.put("RecipeV2", key: "r21", values: ["title": .text("Soup")]).outcome.isApplied)
            await again.close()
        }
    }
}
