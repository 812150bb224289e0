import Foundation
import GRDB
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Ends of a stream", .timeLimit(.minutes(10)))
struct EndingTests {
    @Test("Streams are requested as gzip, and short replies are not")
    func packed() async throws {
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'x')")
            try await one.sync()
            #expect(one.transport.packed.withLock { $0 } == ["/v1/sync/stream"])
        }
    }

    @Test("A stream that ends without its last line counts as cut and deletes no rows")
    func cleanEnd() async throws {
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            for number in 0..<9 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'x')")
            }
            try await one.sync()
            // One row is missing without a tombstone, which only a full resync detects.
            try await sync.execute("DELETE FROM recipe WHERE id = 'r8'; DELETE FROM sync_tombstone")
            let count = "SELECT count(*) FROM recipe"
            try await sync.execute("UPDATE sync_session SET resetReason = 'operator'")
            // The reset itself and everything up to its last line.
            for cut in stride(from: 1, through: 1_700, by: 113) {
                one.transport.streamed.withLock { $0 = 0 }
                one.transport.faults.withLock {
                    $0.cutsStreamAfter = cut
                    $0.cutsCleanly = true
                    $0.pieceSize = 57
                }
                let error = await #expect(throws: SyncError.self, "\(cut)") { try await one.sync() }
                #expect(error?.code == .cut && error?.isRetryable == true, "\(cut)")
                #expect(try await one.rows(count) == ["9"], "\(cut)")
                try await sync.execute("DELETE FROM sync_checkpoint; UPDATE sync_session SET resetReason = 'operator'")
            }
            one.transport.faults.withLock { $0 = .init() }
            try await one.sync()
            #expect(try await one.rows(count) == ["8"])
        }
    }

    @Test(
        "Each failure that ends a stream early has its error, and earlier rows stay",
        arguments: [
            (#"{"code":"unauthorized","message":"x","isRetryable":false}"#, SyncError.Code.unauthorized),
            (#"{"code":"unauthorized","message":"x","isRetryable":true}"#, .unavailable),
            (#"{"code":"replaced","message":"x","isRetryable":false}"#, .cut),
            (#"{"code":"replaced","message":"x","isRetryable":true,"retryAfter":10}"#, .cut),
            (#"{"code":"server_error","message":"x","isRetryable":true,"retryAfter":30}"#, .unavailable),
            (#"{"code":"gone","message":"x","isRetryable":false}"#, .unexpectedReply),
        ])
    func failed(data: String, code: SyncError.Code) async throws {
        let row = LineServer.row("RecipeV1", number: 1, id: "r1", data: #""title":"Soup""#)
        let server = LineServer(scripts: [[row, #"{"type":"SyncErrorV1","data":\#(data)}"#]])
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            let client = try await server.client(device.database)
            let error = await #expect(throws: SyncError.self) { try await client.synchronize() }
            #expect(error?.code == code)
            #expect(error?.isRetryable == [.unavailable, .cut].contains(code))
            #expect(try await device.rows("SELECT id, title FROM recipe") == ["r1|Soup"])
        }
    }

    @Test("A batch that fails before its commit arrives again as a whole")
    func failedBatch() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup'), ('r2', 'Stew'), ('r3', 'Pie')")
            try await one.sync()
            // The trigger raises an error of the whole database in the middle of the batch.
            try await two.breakDisk()
            try await two.execute(
                """
                CREATE TRIGGER host BEFORE INSERT ON recipe WHEN NEW.id = 'r2'
                BEGIN SELECT broken_disk(); END
                """)
            await #expect(throws: DatabaseError.self) { try await two.sync() }
            #expect(try await two.rows("SELECT count(*) FROM recipe") == ["0"])
            #expect(try await two.rows("SELECT count(*) FROM lfs_sync_checkpoint") == ["0"])
            try await two.execute("DROP TRIGGER host")
            #expect(try await two.sync().received == 3)
            // A failure between the commit and its ack repeats nothing.
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r4', 'Flan')")
            try await one.sync()
            two.transport.faults.withLock { $0.losesReplyOf = "/v1/sync/ack" }
            await #expect(throws: SyncError.self) { try await two.sync() }
            #expect(try await two.rows("SELECT count(*) FROM recipe") == ["4"])
            #expect(try await two.sync() == SyncReport())
        }
    }

    @Test("A child whose parent moved beyond the stream's end is parked until it arrives")
    func movedParent() async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            // A first sync takes two streams.
            try await two.sync()
            try await one.execute(
                """
                INSERT INTO recipe (id, title) VALUES ('r1', 'Soup');
                INSERT INTO step (id, recipeID) VALUES ('s1', 'r1')
                """)
            try await one.sync()
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsStream = (isThere, goOn) }
            async let first = two.sync()
            // The stream's end is fixed and no page has been read.
            await isThere.wait()
            try await one.execute("UPDATE recipe SET title = 'Broth'")
            try await one.sync()
            goOn.open()
            let r = try await first
            #expect(r.parked == 1)
            #expect(try await two.rows("SELECT id FROM step UNION SELECT id FROM recipe") == [])
            two.transport.faults.withLock { $0 = .init() }
            #expect(try await two.sync().parked == 0)
            #expect(try await two.rows("SELECT title, step.id FROM recipe JOIN step") == ["Broth|s1"])
            #expect(try await two.sync() == SyncReport())
        }
    }
}
