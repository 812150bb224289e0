import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSSync

@Suite("Cancellation of a sync", .timeLimit(.minutes(10)))
struct CancellationTests {
    @Test("A cancelled sync ends during a long stream, and the next one completes")
    func midStream() async throws {
        let count = 5_000
        try await TestSync.run(isQuick: true) { sync in
            let one = try await sync.device("one", isQuick: true)
            try await one.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO recipe (id, title) SELECT 'r' || i, 'Soup' FROM n
                """)
            try await one.sync()
            let two = try await sync.device("two", isQuick: true)
            let (isThere, goOn) = (Latch(), Latch())
            two.transport.faults.withLock { $0.holdsStream = (isThere, goOn) }
            let task = Task { try await two.sync() }
            await isThere.wait()
            task.cancel()
            // Several batches arrive and none is consumed, so the producer waits for room.
            goOn.open()
            await #expect(throws: CancellationError.self) { try await task.value }
            two.transport.faults.withLock { $0 = .init() }
            #expect(try await two.sync().received == count)
        }
    }
}
