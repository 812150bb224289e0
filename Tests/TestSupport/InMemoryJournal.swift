package import LFSStorage
package import LFSSystem
package import LFSTransfer
import Synchronization

/// A queue in memory for tests, with due times on a manual clock. It records every call.
///
/// The mutex owns the state.
package final class InMemoryJournal: TransferJournal {
    package enum Ending: Hashable, Sendable {
        case uploaded, failed(StorageError.Code), skipped
    }

    private struct Entry {
        var id: FileID
        var key: ObjectKey
        var byteCount: Int64
        var attempts = 0
        var lastError: StorageError.Code?
        var sending = SendBudget()
        var sentSince: Duration = .zero
        var due: Duration = .zero
        var ending: Ending?
        var isDeleted = false
    }

    private struct State {
        var order: [FileID] = []
        var entries: [FileID: Entry] = [:]
        /// The index of the first entry that may not have ended.
        var firstOpen = 0
        var records: [[TransferOutcome]] = []
        var endedCount = 0
        var outages: [StorageError.Code?] = []
        var failingRecords = 0
        var failingPages = 0
    }

    /// Decides on each upload. By default every job has the same source.
    package typealias Check = @Sendable (TransferJob) async throws -> UploadDecision

    private let clock: ManualClock
    private let answer: Check
    private let state = Mutex(State())

    package init(clock: ManualClock, check: @escaping Check) {
        self.clock = clock
        self.answer = check
    }

    // MARK: Actions of a test

    /// Adds jobs that are due at once. Their byte counts only determine their lanes.
    package func add(_ ids: [FileID], byteCount: Int64 = 1) throws {
        let entries = try ids.map { Entry(id: $0, key: try ObjectKey("test/" + $0.name), byteCount: byteCount) }
        state.withLock { state in
            for entry in entries {
                state.order.append(entry.id)
                state.entries[entry.id] = entry
            }
        }
    }

    /// Lets the next calls fail, as a busy database does.
    package func failNext(records: Int = 0, pages: Int = 0) {
        state.withLock { state in
            state.failingRecords += records
            state.failingPages += pages
        }
    }

    /// Ends a job, as the deletion of its row does.
    package func withdraw(_ id: FileID) {
        state.withLock { state in
            if state.entries[id]?.ending == nil { state.endedCount += 1 }
            state.entries[id]?.ending = .skipped
        }
    }

    /// Ends a job, as the deletion of its row during the upload does.
    package func delete(_ id: FileID) {
        withdraw(id)
        state.withLock { $0.entries[id]?.isDeleted = true }
    }

    // MARK: Observations of a test

    /// The endings of jobs, without those that have not ended.
    package var endings: [FileID: Ending] { state.withLock { $0.entries.compactMapValues(\.ending) } }
    package var endedCount: Int { state.withLock { $0.endedCount } }
    package func attempts(of id: FileID) -> Int? { state.withLock { $0.entries[id]?.attempts } }
    /// Every recorded batch.
    package var records: [[TransferOutcome]] { state.withLock { $0.records } }
    /// The recorded states of the storage as a whole, in order.
    package var outages: [StorageError.Code?] { state.withLock { $0.outages } }
    /// The size of each page that was read.
    package let reads = EventLog<Int>()
    /// Returns the due time of a job on the manual clock.
    package func due(_ id: FileID) -> Duration? { state.withLock { $0.entries[id]?.due } }

    // MARK: TransferJournal

    package func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage {
        let now = clock.now.offset
        let page = try state.withLock { state in
            if state.failingPages > 0 {
                state.failingPages -= 1
                throw JournalIsBusy()
            }
            while state.firstOpen < state.order.count, state.entries[state.order[state.firstOpen]]?.ending != nil {
                state.firstOpen += 1
            }
            var page = TransferPage(jobs: [], nextDue: nil)
            for id in state.order[state.firstOpen...] where page.jobs.count < limit && !held.contains(id) {
                guard let entry = state.entries[id], entry.ending == nil,
                    TransferLane(byteCount: entry.byteCount) == lane
                else { continue }
                if entry.due <= now {
                    page.jobs.append(Self.job(entry, now: now))
                } else {
                    page.nextDue = min(page.nextDue ?? .seconds(1_000_000), entry.due - now)
                }
            }
            return page
        }
        reads.add(page.jobs.count)
        return page
    }

    package func check(_ job: TransferJob) async throws -> UploadDecision { try await answer(job) }

    package func record(_ outcomes: [TransferOutcome]) async throws -> Set<FileID> {
        let now = clock.now.offset
        return try state.withLock { state in
            if state.failingRecords > 0 {
                state.failingRecords -= 1
                throw JournalIsBusy()
            }
            state.records.append(outcomes)
            for outcome in outcomes where state.entries[outcome.job.id]?.ending == nil {
                Self.apply(outcome, now: now, to: &state.entries[outcome.job.id])
                if state.entries[outcome.job.id]?.ending != nil { state.endedCount += 1 }
            }
            return Set(outcomes.map(\.job.id).filter { state.entries[$0]?.isDeleted == true })
        }
    }

    package func note(outage: StorageError?) async throws {
        state.withLock { $0.outages.append(outage?.code) }
    }

    package func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {}

    private static func job(_ entry: Entry, now: Duration) -> TransferJob {
        TransferJob(
            id: entry.id, key: entry.key, byteCount: entry.byteCount, content: .ofNothing,
            attempts: entry.attempts, lastError: entry.lastError,
            sending: SendBudget(byteCount: entry.sending.byteCount, age: now - entry.sentSince), checkpoint: nil)
    }

    private static func apply(_ outcome: TransferOutcome, now: Duration, to entry: inout Entry?) {
        switch outcome.result {
        case .uploaded: entry?.ending = .uploaded
        case .skipped: entry?.ending = .skipped
        case .failed(let error): entry?.ending = .failed(error.code)
        case .retry(let error, let delay, let tries):
            entry?.due = now + delay
            entry?.attempts = tries.count
            entry?.lastError = error.code
            entry?.sending = tries.sending
            entry?.sentSince = now - tries.sending.age
        case .waiting, .givenBack: break
        }
    }
}

/// The error of a journal that is temporarily not readable or writable.
package struct JournalIsBusy: Error {
    package init() {}
}

extension TransferJob.Content {
    /// The content of jobs whose bytes are not read.
    package static let ofNothing = TransferJob.Content(sha256: "", contentType: nil, name: nil)
}
