import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("The executor pool", .timeLimit(.minutes(10)))
struct ExecutorPoolTests {
    private let memory = InMemoryStorage()

    @Test("uploads 10,000 jobs exactly once each, and holds a page of them at a time")
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
        "runs as many uploads at once as the rule and the maximum say", arguments: [(1, 10, 1), (4, 10, 2), (50, 3, 3)])
    func concurrency(_ jobs: Int, _ maxExecutors: Int, _ expected: Int) async throws {
        let gate = GatedStorage(memory)
        try await withPool(gate, maxExecutors: maxExecutors, jobs: numbers(0..<jobs)) { harness in
            await gate.waitForArrivals(expected)
            #expect(harness.pool.executorCount == expected)
            gate.open()
            await harness.waitForEnd(of: jobs)
            #expect(gate.maxConcurrentCalls <= expected)
        }
    }

    @Test("tells an upload which ones come next, as far as it knows")
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
        #expect(asked.events.contains(["test/2 1", "test/3 1", "test/4 1", "test/5 1"]), "no more than were asked for")
        #expect(all.events.contains { $0.key.rawValue == "test/y" && $0.byteCount == LargeFile.byteCount })
        #expect(asked.events.last == [])
    }

    @Test("never strands a job that comes at the moment at which an executor leaves")
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

    @Test("never forgets a job that is due again while its last outcome is being recorded")
    func dueWhileRecording() async throws {
        let wake = EventLog<ExecutorPool>()
        let rounds = EventLog<Int>()
        let journal = OneJobJournal { journal in
            rounds.add(1)
            guard rounds.events.count == 1, let pool = wake.events.first else { return }
            // Somebody asks for another try, and the pool looks while it still holds the job.
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

    @Test("takes up all that is added while it works")
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

    @Test("does not let a huge file hold up small ones")
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

    @Test("starts nothing while it is paused, and everything afterwards")
    func pause() async throws {
        let clock = ManualClock()
        let journal = InMemoryJournal(clock: clock) { _ in .skip(.notPending) }
        try await withPool(memory, journal: journal, clock: clock) { harness in
            await harness.events.wait { !$0.isEmpty }
            harness.pool.pause()
            try journal.add(numbers(0..<40))
            harness.pool.wake()
            await journal.reads.wait { $0.contains(40) }
            // What one read brought is in the pool when the next one begins.
            let count = journal.reads.events.count
            harness.pool.wake()
            await journal.reads.wait { $0.count > count }
            #expect(harness.pool.heldCount == 40)
            #expect(harness.pool.executorCount == 0 && journal.endings.isEmpty)
            harness.pool.resume()
            await harness.waitForEnd(of: 40)
        }
    }

    @Test("takes no job while a condition is not met, also when somebody resumes it, and everything afterwards")
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

    @Test("skips what need not be uploaded, and fails what never can")
    func decisions() async throws {
        let gate = GatedStorage(memory, isOpen: true)
        let check: InMemoryJournal.Check = { job in
            switch job.id {
            case "elsewhere": .skip(.madeElsewhere)
            case "gone": .skip(.notPending)
            default: .fail(StorageError(.sourceChanged, "The file is gone."))
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

/// Lets a test look at the session of each upload.
private struct AskingStorage: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    let look: @Sendable (UploadSession) -> Void

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        look(session)
        return try await base.upload(source, to: key, session: session)
    }
}
