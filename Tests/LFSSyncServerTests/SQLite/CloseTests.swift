import Dispatch
import Foundation
import LFSSyncServer
import LFSSystem
import TestSupport
import Testing

@Suite("A database that is closed", .timeLimit(.minutes(10)))
struct CloseTests {
    /// A read gives its connection back on one of Swift's threads, of which there are as many as processors.
    @Test("while it is read waits for the end of that, and holds up no thread that is needed for it")
    func whileRead() async throws {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let count = 4 * processors
        try await withTemporaryFolder { folder in
            let reading = EventLog<Int>()
            let gate = DispatchSemaphore(value: 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                let databases = try (0..<count).map { number in
                    try SQLiteDatabase(path: folder.appending(path: "\(number).sqlite").path)
                }
                for (number, database) in databases.enumerated() {
                    group.addTask {
                        try await database.read { _ in
                            reading.add(number)
                            gate.wait()
                        }
                    }
                }
                await reading.wait { $0.count == count }
                for (number, database) in databases.enumerated() {
                    group.addTask {
                        // The reads end when as many as there are threads are at it.
                        if number < processors { for _ in 0..<count / processors { gate.signal() } }
                        await database.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
