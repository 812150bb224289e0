import Foundation
import LFSStorage
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

#if os(Linux)
@Suite("The memory of a pool", .timeLimit(.minutes(5)))
struct PoolMemoryTests {
    /// Every round starts an executor that leaves again. Other tests run beside this one, so the limit is a wide one.
    @Test("does not grow with the executors that came and left")
    func executorsThatLeft() async throws {
        let journal = OneJobJournal()
        let pool = ExecutorPool(storage: InMemoryStorage(), journal: journal, maxExecutors: 1, clock: ManualClock())
        let run = Task { await pool.run() }
        let before = try residentKilobytes()
        for _ in 1...30_000 {
            journal.makeDue()
            pool.wake()
            await journal.recorded.wait()
        }
        #expect(try residentKilobytes() - before < 150_000)
        pool.stop()
        await run.value
    }

    private func residentKilobytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.filter(\.isNumber)))
    }
}
#endif
