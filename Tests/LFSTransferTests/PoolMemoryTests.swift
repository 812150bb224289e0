import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

#if os(Linux)
@Suite("The memory of a pool", .timeLimit(.minutes(10)))
struct PoolMemoryTests {
    /// Every round starts an executor that leaves again. It runs in a process of its own: in a shared one, the memory
    /// of the tests beside it would be measured as well.
    @Test("does not grow with the executors that came and left")
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
