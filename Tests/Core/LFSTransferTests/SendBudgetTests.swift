import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSTransfer

@Suite("Budget for repeated uploads", .timeLimit(.minutes(10)))
struct SendBudgetTests {
    private static let size: Int64 = 1_000_000

    @Test(
        "A storage that always fails late gets at most four times the file's size a day",
        arguments: [StorageError.Code.serverError, .integrity, .timeout])
    func perDay(_ code: StorageError.Code) async throws {
        let clock = ManualClock()
        let storage = SwallowingStorage(code, clock: clock)
        let source = try UploadSource.temporary([UInt8](repeating: 7, count: Int(Self.size)))
        let journal = InMemoryJournal(clock: clock) { _ in .upload(source) }
        try journal.add(["a"], byteCount: Self.size)
        try await withPool(storage, random: 0, journal: journal, clock: clock) { harness in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await clock.runFreely() }
                await storage.times.wait { $0.count >= 14 }
                group.cancelAll()
            }
            #expect(journal.endings.isEmpty)
        }
        let times = storage.times.events
        for (index, time) in times.enumerated() {
            // The first upload repeats nothing.
            let within = times[max(index, 1)...].count { $0 < time + .seconds(24 * 3_600) }
            #expect(within <= 4, "\(within) times within the day that begins with number \(index)")
        }
        let delays = zip(times, times.dropFirst()).prefix(4).map { $1 - $0 }
        #expect(delays == delays.sorted(), "the delays grow")
        #expect(times[4] < .seconds(24 * 3_600), "it is retried several times a day")
    }

    @Test("A resumed upload counts only the bytes that it sends")
    func resumed() {
        var budget = SendBudget()
        for _ in 0..<10 { budget = budget.adding(Self.size / 10, size: Self.size) }
        #expect(budget.wait(size: Self.size) == .zero)
        let sent = SentBytes(isResumed: true)
        for bytes in [500, 600, 700] as [Int64] { sent.report(bytes) }
        #expect(sent.count == 200)
        sent.report(0)
        sent.report(700)
        #expect(sent.count == 900)
    }

    @Test("The budget starts over each day, and the first upload does not count")
    func newDay() {
        let day = Duration.seconds(24 * 3_600)
        let spent = SendBudget(byteCount: 5 * Self.size, age: .seconds(3_600))
        #expect(spent.wait(size: Self.size) == day - .seconds(3_600))
        let next = SendBudget(byteCount: 5 * Self.size, age: day).adding(Self.size, size: Self.size)
        #expect(next.byteCount == 2 * Self.size && next.age == .zero)
        #expect(next.wait(size: Self.size) == .seconds(60))
    }

    @Test("The budget never overflows, whatever values a row has")
    func extremes() {
        let odd = SendBudget(byteCount: .max, age: .seconds(Int64.max)).adding(.max, size: .max)
        #expect(odd.wait(size: 1) >= .zero)
        #expect(SendBudget(byteCount: -1, age: .seconds(-1)).adding(-5, size: 0).wait(size: 0) == .zero)
        #expect(SendBudget(byteCount: .max).wait(size: .max / 2) > .zero)
        #expect(SendBudget(byteCount: .max).adding(1, size: 1).byteCount == .max)
    }
}

@Suite("Unreadable local files", .timeLimit(.minutes(10)))
struct UnreadableSourceTests {
    @Test("An unreadable file is retried with growing delays and then fails alone")
    func persistent() async throws {
        let memory = InMemoryStorage()
        let clock = ManualClock()
        let source = try UploadSource.temporary([1, 2, 3])
        let tries = Atomic(0)
        let journal = InMemoryJournal(clock: clock) { job in
            guard job.id == "bad" else { return .upload(source) }
            tries.add(1, ordering: .relaxed)
            throw StorageError(.sourceUnreadable, message: "read /a: Input/output error")
        }
        try await withPool(memory, jobs: ["bad"] + numbers(0..<30), journal: journal, clock: clock) { harness in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await clock.runFreely() }
                await harness.waitForEnd(of: 31)
                group.cancelAll()
            }
            #expect(journal.endings.filter { $0.value != .uploaded } == ["bad": .failed(.sourceUnreadable)])
            #expect(tries.load(ordering: .relaxed) == RetryPolicy.maxUnreadable)
            #expect(harness.events.events.compactMap(\.outage).isEmpty)
            let delays = harness.events.events.compactMap(\.failure?.nextAttempt)
            #expect(delays == delays.sorted() && delays.count == RetryPolicy.maxUnreadable - 1)
        }
    }

    @Test("A file on a locked device is retried, and no attempt is counted", arguments: [0, 500])
    func locked(_ attempts: Int) throws {
        let job = TransferJob(
            id: "a", key: try ObjectKey("test/a"), byteCount: 1, content: .ofNothing, attempts: attempts,
            lastError: .sourceLocked, checkpoint: nil)
        let result = RetryPolicy(random: { 1 }).result(
            of: StorageError(.sourceLocked, message: "EPERM"), job, sent: 0)
        guard case .retry(_, after: let wait, let tries) = result else {
            Issue.record("The upload failed permanently: \(result)")
            return
        }
        #expect(tries.count == attempts)
        #expect(wait > .seconds(10))
    }

    @Test("An unreadable file gets all its attempts after other failures")
    func otherFailures() throws {
        let job = TransferJob(
            id: "a", key: try ObjectKey("test/a"), byteCount: 1, content: .ofNothing, attempts: 500,
            lastError: .timeout, checkpoint: nil)
        let result = RetryPolicy(random: { 1 }).result(
            of: StorageError(.sourceUnreadable, message: "EIO"), job, sent: 0)
        guard case .retry(_, after: .milliseconds(100), let tries) = result else {
            Issue.record("The upload failed permanently: \(result)")
            return
        }
        #expect(tries.count == 1)
    }
}

/// A storage that reports every byte as transferred and then fails.
final class SwallowingStorage: StorageWrapper {
    let base: any RemoteStorage = InMemoryStorage()
    /// The time of each upload.
    let times = EventLog<Duration>()
    private let code: StorageError.Code
    private let clock: ManualClock

    init(_ code: StorageError.Code, clock: ManualClock) {
        self.code = code
        self.clock = clock
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        times.add(clock.now.offset)
        session.report(bytesTransferred: source.byteCount)
        throw StorageError(code, message: "Something is wrong at the end.", key: key)
    }
}
