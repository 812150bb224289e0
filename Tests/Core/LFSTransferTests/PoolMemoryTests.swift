import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

#if os(Linux)
@Suite("Memory of a pool", .timeLimit(.minutes(10)))
struct PoolMemoryTests {
    /// Every round starts an executor that ends. The test runs in a process of its own, because a shared
    /// process would include the memory of concurrent tests.
    @Test("Executors that ended do not increase the memory of the pool")
    func executorsThatLeft() async throws {
        await #expect(processExitsWith: .success) {
            let journal = OneJobJournal()
            let pool = ExecutorPool(storage: InMemoryStorage(), journal: journal, maxExecutors: 1, clock: ManualClock())
            let run = Task { await pool.run() }
            let before = try memoryInUse()
            for _ in 1...15_000 {
                journal.makeDue()
                pool.wake()
                await journal.recorded.wait()
            }
            let growth = try memoryInUse() - before
            pool.stop()
            await run.value
            #expect(growth < 15_000 << 10)
        }
    }
}
#endif
