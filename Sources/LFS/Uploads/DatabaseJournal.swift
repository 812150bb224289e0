import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Synchronization

/// The durable queue of uploads: the table `lfs_job`, read page by page.
final class DatabaseJournal: TransferJournal {
    /// Other processes delete and cancel too, which ``changes`` does not count. What was read of a row is used this
    /// long, in milliseconds.
    private static let freshness: Int64 = 1_000

    private let namespace: Namespace
    private let runner: BackgroundRunner
    private let places: FilePlaces
    private let observer: CommitObserver
    private let wallClock: @Sendable () -> Date
    /// No wait can be longer than this, so a time further away comes from a clock that was set back.
    private let longestWait: Duration
    private let cancellations = Mutex<UInt64>(0)

    init(
        namespace: Namespace, runner: BackgroundRunner, places: FilePlaces, observer: CommitObserver,
        wallClock: @escaping @Sendable () -> Date, longestWait: Duration
    ) {
        self.namespace = namespace
        self.runner = runner
        self.places = places
        self.observer = observer
        self.wallClock = wallClock
        self.longestWait = longestWait
    }

    /// As long as it stays the same, an upload that was pending is pending.
    private var changes: UInt64 { observer.deletions &+ cancellations.withLock { $0 } }

    /// Tells that an upload was cancelled in the database.
    func noteCancellation() { cancellations.withLock { $0 &+= 1 } }

    // MARK: Reading

    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage {
        let now = wallClock().millisecondsSince1970
        let far = now + longestWait.milliseconds
        let changes = changes
        let (rows, next) = try await runner.read { db in
            // Held jobs come first in the order, so this many rows hold a whole page of others if there is one.
            var rows = try JobTable.due(lane: lane.rawValue, now: now, limit: limit + held.count, db)
            if rows.count < limit {
                rows += try JobTable.outOfReach(lane: lane.rawValue, furthest: far, limit: limit, db)
            }
            let next = try JobTable.nextDue(lane: lane.rawValue, after: now, furthest: far, db)
            return (rows, next)
        }
        var usable: [JobRow] = []
        var unusable: [(place: DatabaseValue, StorageError)] = []
        for row in rows {
            switch row.record {
            case .success(let job):
                if let error = job.unusableKey { unusable.append((row.place, error)) } else { usable.append(job) }
            case .failure(let error):
                unusable.append((row.place, StorageError(.invalidRequest, error.message, cause: error)))
            }
        }
        if !unusable.isEmpty, try await fail(unusable) {
            return try await page(lane, limit: limit, excluding: held)
        }
        var jobs: [TransferJob] = []
        for row in usable where jobs.count < limit && !held.contains(row.id) {
            jobs.append(try row.job(now: now, changes: changes))
        }
        return TransferPage(jobs: jobs, nextDue: next.map { .milliseconds(max($0 - now, 1)) })
    }

    func check(_ job: TransferJob) async throws -> UploadDecision { try await check(job, looks: 3) }

    /// - Parameter looks: how often the bytes are looked for, if folders come and go meanwhile.
    private func check(_ job: TransferJob, looks: Int) async throws -> UploadDecision {
        guard let content = try await currentContent(of: job) else { return .skip(.notPending) }
        let id = job.id
        // Of a disk that is gone the system may have kept the names, and what it has read.
        if job.lastError == .sourceUnreadable { _ = try await hasLostPlace() }
        let places = places
        let file: Descriptor?
        do {
            file = try await BlockingPool.uploads.run { _ -> Descriptor? in
                if let file = try places.store.open(id) { return file }
                // A copy from another disk is not waited for, nor room for it: the bytes are read where they are.
                try places.promoteAtOnce(id)
                return try places.open(id)
            }
        } catch let error as SystemError {
            if try await hasLostPlace(), looks > 1 { return try await check(job, looks: looks - 1) }
            throw UploadSource.failure("opened", error)
        }
        guard let file else { return try await absent(id, job, looks) }
        do {
            return .upload(
                try UploadSource(
                    descriptor: file, byteCount: job.byteCount, sha256: content.sha256, crc64: content.crc64,
                    contentType: content.contentType, name: content.name))
        } catch {
            if error.isRetryable { throw error }
            return .fail(error)
        }
    }

    /// What the job has brought along, or read again when rows were deleted or uploads cancelled since; nil when it is
    /// not pending any more.
    private func currentContent(of job: TransferJob) async throws -> TransferJob.Content? {
        let age = wallClock().millisecondsSince1970 - job.content.readAt
        if job.content.changes == changes, (0...Self.freshness).contains(age) { return job.content }
        let file = try await runner.read { db in try FileTable.pending(job.id, db) }
        return file.map { .init(sha256: $0.sha256, crc64: $0.crc64, contentType: $0.contentType, name: $0.name) }
    }

    /// Whether the disk of one of the places has gone since the last look.
    private func hasLostPlace() async throws -> Bool {
        try await MissingFileSearch(runner: runner, places: places).refreshPlaces()
    }

    /// The bytes are nowhere: perhaps another start left them in a place that we have not looked at, or that is away.
    private func absent(_ id: FileID, _ job: TransferJob, _ looks: Int) async throws -> UploadDecision {
        guard namespace.isOurs(job.key.rawValue) else { return .skip(.madeElsewhere) }
        switch try await MissingFileSearch(runner: runner, places: places).search(for: id) {
        case .here where looks > 1: return try await check(job, looks: looks - 1)
        case .here: throw StorageError(.sourceAbsent, "The bytes come and go: is a disk failing?", key: job.key)
        case .away(let reason): throw StorageError(.sourceAbsent, reason, key: job.key)
        case .nowhere:
            return .fail(
                StorageError(
                    .sourceChanged,
                    """
                    The file was made here, but its bytes are neither in \(places.store.path) nor in a persistence \
                    location.
                    """,
                    key: job.key))
        }
    }

    // MARK: Writing

    /// Gives up rows that another program has written so that they cannot be uploaded, and others go on. Returns
    /// whether there are fewer of them now.
    private func fail(_ rows: [(place: DatabaseValue, StorageError)]) async throws -> Bool {
        try await runner.write { db in
            try rows.reduce(false) { hasFailed, row in
                let (place, error) = row
                return try JobTable.fail(place, code: error.code.rawValue, message: error.message, db) || hasFailed
            }
        }
    }

    func record(_ outcomes: [TransferOutcome]) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in
            for outcome in outcomes { try OutcomeRecord(outcome, now: now).save(db) }
            let successes = outcomes.compactMap(\.isSuccess)
            if successes.contains(true) { try StateTable.noteFailing(nil, db) }
            if successes.last == false { try StateTable.noteFailing(now, db) }
        }
    }

    func note(outage: StorageError?) async throws {
        let now = wallClock().millisecondsSince1970
        try await runner.write { db in
            try StateTable.noteOutage(outage.map { ($0.code.rawValue, $0.message) }, now: now, db)
        }
    }

    func save(_ checkpoint: UploadCheckpoint, for job: TransferJob) async throws {
        try await runner.write { db in try JobTable.save(checkpoint: checkpoint.rawValue, of: job.id, db) }
    }
}

/// Writes the outcome of one upload into its rows, on the condition that they are still waiting for it.
private struct OutcomeRecord {
    private let outcome: TransferOutcome
    private let now: Int64

    init(_ outcome: TransferOutcome, now: Int64) {
        self.outcome = outcome
        self.now = now
    }

    func save(_ db: Database) throws {
        let (id, attempt) = (outcome.job.id, JobTable.Try(outcome.job.id, turn: outcome.job.turn))
        switch outcome.result {
        case .uploaded(let object): try saveUpload(object, db)
        case .retry(let error, let delay, let tries):
            try JobTable.putOff(
                attempt, until: now + delay.milliseconds, attempts: tries.count, code: error.code.rawValue,
                message: error.message, sentBytes: tries.sending.byteCount,
                sentSince: tries.sending.byteCount > 0 ? now - tries.sending.age.milliseconds : 0, db)
        // It stays due, and its own last error stays: this one is the storage's, see `lfs_state`.
        case .waiting: break
        case .failed(let error):
            try JobTable.fail(attempt, code: error.code.rawValue, message: error.message, db)
        case .skipped(.madeElsewhere): try JobTable.remove(id, db)
        case .skipped(.notPending): try JobTable.removeWithoutFile(id, db)
        case .givenBack: break
        }
    }

    private func saveUpload(_ object: RemoteObject, _ db: Database) throws {
        let (id, proof) = (outcome.job.id, FileRow.Proof(object.proof))
        if try FileTable.noteUpload(id, url: object.url, proof, db) { return try JobTable.remove(id, db) }
        if try FileTable.contains(id, db) {
            // The row was `remote` already: its object was missing or wrong and has been made again.
            try FileTable.noteUploadAgain(id, url: object.url, proof, db)
            return try JobTable.remove(id, db)
        }
        // The row was deleted while its bytes were on their way: the object just made has to go as well. Its tombstone
        // has waited for that. Without one nobody has deleted it: an older copy of the database was put back meanwhile.
        try TombstoneTable.removeAgain(id, db)
    }
}

extension FileRow.Proof {
    init(_ proof: StorageCapabilities.Proof) {
        switch proof {
        case .checksum: self = .checksum
        case .byteCount: self = .byteCount
        }
    }
}

extension TransferOutcome {
    /// Whether the storage has taken the file; nil for one that it was not asked for, or not to the end.
    fileprivate var isSuccess: Bool? {
        switch result {
        case .uploaded: true
        case .retry, .waiting, .failed: false
        case .skipped, .givenBack: nil
        }
    }
}
