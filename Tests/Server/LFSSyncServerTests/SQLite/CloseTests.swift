import Dispatch
import Foundation
import LFSSyncServer
import LFSSystem
import TestSupport
import Testing

@Suite("Closing a SQLite database", .timeLimit(.minutes(10)))
struct CloseTests {
    /// A read returns its connection on a thread of Swift's pool, which has as many threads as processors.
    @Test("Closing a database waits for its reads without blocking their threads")
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
                        // The reads end once as many tasks are closing as there are threads.
                        if number < processors { for _ in 0..<count / processors { gate.signal() } }
                        await database.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A closed database is a single file, also right after reads")
    func singleFile() async throws {
        try await withTemporaryFolder { folder in
            for round in 0..<50 {
                let name = "\(round).sqlite"
                let database = try SQLiteDatabase(path: folder.appending(path: name).path)
                try await database.write { db in
                    try db.run(script: "CREATE TABLE a (b); INSERT INTO a VALUES (randomblob(9000))")
                }
                try await withThrowingTaskGroup(of: Void.self) { reads in
                    for _ in 0..<4 {
                        reads.addTask {
                            _ = try await database.read { db in
                                try db.query("SELECT count(*) FROM a", arguments: []) { _ in true }
                            }
                        }
                    }
                    try await reads.waitForAll()
                }
                await database.close()
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                try #require(left.filter { $0.hasPrefix("\(name)") } == [name], "round \(round)")
            }
        }
    }
}
