import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Upload retries", .timeLimit(.minutes(10)))
struct RetryTests {
    private let memory = InMemoryStorage()

    @Test("A failed upload is retried when its delay is over, and not before")
    func backoff() async throws {
        let failing = FailingStorage(memory, times: 3, with: StorageError(.serverError, message: "Down."))
        try await withPool(failing, jobs: ["a"]) { harness in
            for (tries, delay) in [(1, 100), (2, 200), (3, 400)] {
                await harness.events.wait { $0.count { $0.failure != nil } == tries }
                await harness.clock.waitForSleepers { $0 == [.milliseconds(delay)] }
                #expect(harness.journal.attempts(of: "a") == tries)
                harness.clock.advance(by: .milliseconds(delay - 1))
                #expect(failing.failuresLeft == 3 - tries)
                harness.clock.advance(by: .milliseconds(1))
            }
            await harness.waitForEnd(of: 1)
            #expect(harness.journal.endings == ["a": .uploaded])
            #expect(
                harness.events.events.compactMap(\.failure?.nextAttempt) == [100, 200, 400].map { .milliseconds($0) })
        }
    }

    @Test("A retry waits as long as the storage asks, up to a cap", arguments: [(5, 5), (100_000, 3_600)])
    func retryAfter(_ asked: Int, waited: Int) async throws {
        let busy = StorageError(.throttled, message: "Slow down.", retryAfter: .seconds(asked))
        let failing = FailingStorage(memory, with: busy)
        try await withPool(failing, jobs: ["a"]) { harness in
            await harness.clock.waitForSleepers { $0 == [.seconds(waited)] }
            #expect(harness.journal.due("a") == .seconds(waited))
            harness.clock.advance(by: .seconds(waited))
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("A storage error `cancelled` without a cancellation is retried like any other")
    func cancelledByItself() async throws {
        let odd = FailingStorage(memory, with: StorageError(.cancelled, message: "I had enough."))
        try await withPool(odd, jobs: ["a"]) { harness in
            await harness.clock.waitForSleepers { $0 == [.milliseconds(100)] }
            #expect(harness.journal.attempts(of: "a") == 1)
            harness.clock.advance(by: .milliseconds(100))
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("A permanent error is not retried, and other jobs continue")
    func permanent() async throws {
        let failing = FailingStorage(memory, with: StorageError(.invalidRequest, message: "No."))
        try await withPool(failing, maxExecutors: 1, jobs: ["a", "b"]) { harness in
            await harness.waitForEnd(of: 2)
            #expect(harness.journal.endings == ["a": .failed(.invalidRequest), "b": .uploaded])
            let failure = harness.events.events.compactMap(\.failure).first
            #expect(failure?.id == "a" && failure?.nextAttempt == nil)
        }
    }

    @Test("A decision that throws never costs an executor")
    func throwingCheck() async throws {
        let source = try UploadSource.temporary([1, 2, 3])
        let tries = Atomic(0)
        let check: InMemoryJournal.Check = { _ in
            if tries.add(1, ordering: .relaxed).newValue <= 30 { throw JournalIsBusy() }
            return .upload(source)
        }
        try await withPool(memory, maxExecutors: 2, random: 0, jobs: numbers(0..<20), check: check) { harness in
            await harness.waitForEnd(of: 20)
            #expect(tries.load(ordering: .relaxed) == 50)
            #expect(harness.journal.endings.allSatisfy { $0.value == .uploaded })
        }
    }

    @Test("A failed read of the journal is retried")
    func failingPages() async throws {
        let clock = ManualClock()
        let source = try UploadSource.temporary([1, 2, 3])
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        journal.failNext(pages: 3)
        try await withPool(memory, jobs: ["a"], journal: journal, clock: clock) { harness in
            for _ in 1...3 {
                await clock.waitForSleepers { !$0.isEmpty }
                clock.advance(by: .seconds(60))
            }
            await harness.waitForEnd(of: 1)
        }
    }

    @Test("A failed record of outcomes is retried without losing or repeating an upload")
    func failingRecords() async throws {
        let clock = ManualClock()
        let source = try UploadSource.temporary([1, 2, 3])
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        journal.failNext(records: 4)
        let counted = GatedStorage(memory, isOpen: true)
        try await withPool(counted, jobs: numbers(0..<30), journal: journal, clock: clock) { harness in
            for delay in [100, 200, 400, 800] {
                await clock.waitForSleepers { $0 == [.milliseconds(delay)] }
                #expect(harness.events.events.allSatisfy { $0.uploadedID == nil }, "reported only when it is durable")
                clock.advance(by: .milliseconds(delay))
            }
            await harness.waitForEnd(of: 30)
        }
        #expect(counted.arrivals.count == 30)
        #expect(Set(journal.records.joined().map(\.job.id)).count == 30)
    }

    @Test("An upload fails if the storage reports a wrong size, checksum or key", arguments: Misreport.allCases)
    func proof(_ misreport: Misreport) async throws {
        let storage = MisreportingStorage(base: memory, misreport: misreport)
        try await withPool(storage, jobs: ["a"]) { harness in
            await harness.events.wait { !$0.compactMap(\.failure).isEmpty }
            #expect(harness.events.events.compactMap(\.failure).first?.code == .integrity)
            #expect(harness.journal.endings.isEmpty)
        }
    }

    @Test("A file that is larger than the storage's limit is not uploaded")
    func tooLarge() async throws {
        let storage = SmallStorage(base: memory)
        try await withPool(storage, jobs: ["a"]) { harness in
            await harness.waitForEnd(of: 1)
            #expect(harness.journal.endings == ["a": .failed(.tooLarge)])
        }
        #expect(memory.keys.isEmpty)
    }
}

enum Misreport: CaseIterable, Sendable { case size, checksum, key }

/// A storage that keeps the uploaded object and describes a different one.
struct MisreportingStorage: StorageWrapper {
    let base: any RemoteStorage
    let misreport: Misreport

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        var object = try await base.upload(source, to: key, session: session)
        switch misreport {
        case .size: object.byteCount -= 1
        case .checksum: object.sha256 = String(repeating: "0", count: 64)
        case .key: object.key = try ObjectKey("test/other")
        }
        return object
    }
}

/// A storage for files of up to three bytes.
struct SmallStorage: StorageWrapper {
    let base: any RemoteStorage
    var capabilities: StorageCapabilities {
        StorageCapabilities(kind: "small", proof: .checksum, maximumByteCount: 3)
    }
}
