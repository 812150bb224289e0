import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Executor pool", .timeLimit(.minutes(10)))
struct ExecutorPoolTests {
    private let memory = InMemoryStorage()

    @Test("The pool uploads 10,000 jobs exactly once and holds one page of them at a time")
    func manyJobs() async throws {
        let counted = GatedStorage(memory, isOpen: true)
        try await withPool(counted, jobs: numbers(0..<10_000)) { harness in
            await harness.waitForEnd(of: 10_000)
            #expect(harness.journal.endings.count { $0.value == .uploaded } == 10_000)
            #expect(counted.arrivals.count == 10_000 && Set(counted.arrivals).count == 10_000)
            #expect(counted.maxConcurrentCalls <= 10)
            #expect((harness.journal.reads.events.max() ?? 0) <= PoolState.windowLimit)
            let recorded = harness.journal.records.joined().map(\.job.id)
            #expect(recorded.count == 10_000 && Set(recorded).count == 10_000)
        }
        #expect(memory.keys.count == 10_000)
    }

    @Test(
        "The scaling rule and the maximum limit concurrent uploads", arguments: [(1, 10, 1), (4, 10, 2), (50, 3, 3)])
    func concurrency(_ jobs: Int, maxExecutors: Int, expected: Int) async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: maxExecutors, jobs: numbers(0..<jobs)) { harness in
            await gate.waitForArrivals(expected)
            #expect(harness.pool.executorCount == expected)
            gate.open()
            await harness.waitForEnd(of: jobs)
            #expect(gate.maxConcurrentCalls <= expected)
        }
    }

    @Test("An upload whose row was deleted in the meantime is not reported as uploaded")
    func discarded() async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, jobs: ["a", "b"]) { harness in
            await gate.waitForArrivals(1)
            harness.journal.delete("a")
            harness.journal.delete("b")
            gate.open()
            await harness.events.wait { events in
                guard case .idle = events.last else { return false }
                return events.count { $0.discardedID != nil } == 2
            }
            #expect(harness.events.events.allSatisfy { $0.uploadedID == nil })
        }
    }

    @Test("An upload receives the keys and sizes of the uploads that come next")
    func upcoming() async throws {
        let asked = EventLog<[String]>()
        let all = EventLog<UpcomingUpload>()
        let storage = AskingStorage { session in
            asked.add(session.upcoming(limit: 4).map { "\($0.key) \($0.byteCount)" })
            for upload in session.upcoming(limit: 100) { all.add(upload) }
            #expect(session.upcoming(limit: 0).isEmpty && session.upcoming(limit: -1).isEmpty)
        }
        try await withPool(storage, maxExecutors: 1, jobs: numbers(0..<6), large: ["x", "y"]) { harness in
            await harness.waitForEnd(of: 8)
        }
        #expect(asked.events.contains(["test/2 1", "test/3 1", "test/4 1", "test/5 1"]), "no more jobs than requested")
        #expect(all.events.contains { $0.key.rawValue == "test/y" && $0.byteCount == LargeFile.byteCount })
        #expect(asked.events.last == [])
    }

    @Test("A job that arrives while the last executor leaves is uploaded")
    func lostWakeUp() async throws {
        try await withPool(memory, maxExecutors: 1) { harness in
            for number in 1...1_500 {
                try harness.journal.add(["\(number)"])
                harness.pool.wake()
                // As soon as the outcome is known the executor leaves, and the next job comes.
                await harness.events.wait { $0.suffix(4).contains { $0.uploadedID == "\(number)" } }
            }
            await harness.waitForEnd(of: 1_500)
        }
        #expect(memory.keys.count == 1_500)
    }

    @Test("A job that becomes due while its last outcome is recorded runs again")
    func dueWhileRecording() async throws {
        let wake = EventLog<ExecutorPool>()
        let rounds = EventLog<Int>()
        let journal = OneJobJournal { journal in
            rounds.add(1)
            guard rounds.events.count == 1, let pool = wake.events.first else { return }
            // A caller asks for a retry, and the pool reads the journal while it still holds the job.
            let reads = journal.reads.events.count
            journal.makeDue()
            pool.wake()
            await journal.reads.wait { $0.count > reads }
        }
        let pool = ExecutorPool(storage: memory, journal: journal, maxExecutors: 1, clock: ManualClock())
        wake.add(pool)
        journal.makeDue()
        let run = Task { await pool.run() }
        await rounds.wait { $0.count == 2 }
        pool.stop()
        await run.value
        #expect(rounds.events.count == 2)
    }

    @Test("The pool uploads jobs that are added while it works")
    func addedMeanwhile() async throws {
        try await withPool(memory) { harness in
            await withTaskGroup(of: Void.self) { group in
                for block in 0..<20 {
                    group.addTask {
                        for number in 0..<25 {
                            #expect(throws: Never.self) { try harness.journal.add(["\(block)-\(number)"]) }
                            harness.pool.wake()
                            await Task.yield()
                        }
                    }
                }
            }
            await harness.waitForEnd(of: 500)
        }
        #expect(memory.keys.count == 500)
    }

    @Test("Large files do not block small files")
    func hugeFile() async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: 2, jobs: numbers(0..<12), large: ["huge", "huger"]) { harness in
            let small = try (0..<12).map { try ObjectKey("test/\($0)") }
            for count in 2...13 {
                await gate.waitForArrivals(count)
                let key = try #require(gate.waiting.first { small.contains($0) })
                gate.pass(key)
            }
            await harness.events.wait { $0.count { $0.uploadedID != nil } == 12 }
            #expect(gate.waiting.map(\.rawValue) == ["test/huge"], "one executor is kept for small files")
            gate.open()
            await harness.waitForEnd(of: 14)
        }
    }

    @Test("A paused pool starts no job and uploads everything after it resumes")
    func pause() async throws {
        let clock = ManualClock()
        let journal = InMemoryJournal(clock: clock) { _ in .skip(.notPending) }
        try await withPool(memory, journal: journal, clock: clock) { harness in
            await harness.events.wait { !$0.isEmpty }
            harness.pool.pause()
            try journal.add(numbers(0..<40))
            harness.pool.wake()
            await journal.reads.wait { $0.contains(40) }
            // The jobs of one read are in the pool when the next read begins.
            let count = journal.reads.events.count
            harness.pool.wake()
            await journal.reads.wait { $0.count > count }
            #expect(harness.pool.heldCount == 40)
            #expect(harness.pool.executorCount == 0 && journal.endings.isEmpty)
            harness.pool.resume()
            await harness.waitForEnd(of: 40)
        }
    }

    @Test("A pool on hold takes no job, even after resume, until the hold ends")
    func hold() async throws {
        let clock = ManualClock()
        let journal = InMemoryJournal(clock: clock) { _ in .skip(.notPending) }
        try await withPool(memory, journal: journal, clock: clock) { harness in
            await harness.events.wait { !$0.isEmpty }
            harness.pool.hold(true)
            try journal.add(numbers(0..<40))
            harness.pool.wake()
            await journal.reads.wait { $0.contains(40) }
            harness.pool.pause()
            harness.pool.resume()
            let count = journal.reads.events.count
            harness.pool.wake()
            await journal.reads.wait { $0.count > count }
            #expect(harness.pool.heldCount == 40)
            #expect(harness.pool.executorCount == 0 && harness.pool.underWayIDs.isEmpty && journal.endings.isEmpty)
            harness.pool.hold(false)
            await harness.waitForEnd(of: 40)
        }
    }

    @Test("Jobs that need no upload are skipped, and impossible ones fail")
    func decisions() async throws {
        let gate = GatedStorage(memory, isOpen: true)
        let check: InMemoryJournal.Check = { job in
            switch job.id {
            case "elsewhere": .skip(.madeElsewhere)
            case "gone": .skip(.notPending)
            default: .fail(StorageError(.sourceChanged, message: "The file is gone."))
            }
        }
        try await withPool(gate, jobs: ["elsewhere", "gone", "lost"], check: check) { harness in
            await harness.waitForEnd(of: 3)
            #expect(
                harness.journal.endings == ["elsewhere": .skipped, "gone": .skipped, "lost": .failed(.sourceChanged)])
            #expect(gate.arrivals.isEmpty)
        }
    }
}

/// A storage that passes the session of each upload to the test.
private struct AskingStorage: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    let look: @Sendable (UploadSession) -> Void

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        look(session)
        return try await base.upload(source, to: key, session: session)
    }
}
