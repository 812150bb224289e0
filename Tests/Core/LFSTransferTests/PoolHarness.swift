import Foundation
import LFSStorage
public import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSTransfer

/// A running pool with an in-memory journal and a clock that the test advances.
struct PoolHarness: Sendable {
    let pool: ExecutorPool
    let journal: InMemoryJournal
    let clock: ManualClock
    /// All events except progress.
    let events: EventLog<TransferEvent>

    /// Waits until every added job has ended permanently and the pool reports that it is idle.
    func waitForEnd(of count: Int) async {
        let journal = journal
        await events.wait { events in
            guard case .idle = events.last else { return false }
            return journal.endedCount >= count
        }
    }
}

/// Runs a pool and stops it afterwards. `run()` must return, and nothing may be left in memory.
///
/// - Parameters:
///   - random: the jitter. 1 gives the longest delays, 0 gives none.
///   - check: the decision about each upload. By default every job uploads the same few bytes.
func withPool(
    _ storage: any RemoteStorage, maxExecutors: Int = 10, random: Double = 1, jobs: [FileID] = [], large: [FileID] = [],
    journal given: InMemoryJournal? = nil, clock: ManualClock = ManualClock(), check: InMemoryJournal.Check? = nil,
    _ body: (PoolHarness) async throws -> Void
) async throws {
    let source = try UploadSource.temporary(Array("the same few bytes".utf8))
    let journal = given ?? InMemoryJournal(clock: clock, check: check ?? { _ in .upload(source) })
    try journal.add(jobs)
    try journal.add(large, byteCount: LargeFile.byteCount)
    let events = EventLog<TransferEvent>()
    let pool = ExecutorPool(
        storage: storage, journal: journal, maxExecutors: maxExecutors, policy: RetryPolicy(random: { random }),
        clock: clock,
        events: { event in
            if case .progress = event { return }
            events.add(event)
        })
    let harness = PoolHarness(pool: pool, journal: journal, clock: clock, events: events)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await pool.run() }
        do {
            try await body(harness)
        } catch {
            group.cancelAll()
            throw error
        }
        pool.stop()
        try await group.waitForAll()
    }
    #expect(pool.isIdle && pool.runningCount == 0, "no job is left after run() has returned")
}

extension FileID: ExpressibleByStringInterpolation {
    public init(stringLiteral name: String) { self.init(named: name) }
}

func numbers(_ range: Range<Int>) -> [FileID] { range.map { "\($0)" } }

extension TransferEvent {
    var uploadedID: FileID? {
        if case .uploaded(let id, _) = self { id } else { nil }
    }

    var discardedID: FileID? {
        if case .discarded(let id) = self { id } else { nil }
    }

    var failure: (id: FileID, code: StorageError.Code, nextAttempt: Duration?)? {
        if case .failed(let id, let error, let next) = self { (id, error.code, next) } else { nil }
    }

    /// The error code of an outage event, "over" for the end of an outage, or nil for another event.
    var outage: String? {
        if case .outage(let error) = self { error?.code.rawValue ?? "over" } else { nil }
    }
}
