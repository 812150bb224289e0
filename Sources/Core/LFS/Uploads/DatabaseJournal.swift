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
    /// The time in milliseconds for which the read columns of a row are reused. Other processes delete and cancel too,
    /// and ``changes`` does not count that.
    private static let freshness: Int64 = 1_000

    private let namespace: Namespace
    private let runner: BackgroundRunner
    private let places: FileLocations
    private let originals: Originals
    private let observer: CommitObserver
    private let wallClock: @Sendable () -> Date
    /// The longest possible delay. A time further away was set before the clock was set back.
    private let longestWait: Duration
    private let cancellations = Mutex<UInt64>(0)

    init(
        namespace: Namespace, runner: BackgroundRunner, places: FileLocations, observer: CommitObserver,
        wallClock: @escaping @Sendable () -> Date, longestWait: Duration
    ) {
        self.namespace = namespace
        self.runner = runner
        self.places = places
        originals = Originals(runner: runner)
        self.observer = observer
        self.wallClock = wallClock
        self.longestWait = longestWait
    }

    /// A count of deletions and cancellations. While it is unchanged, a pending upload is still pending.
    private var changes: UInt64 { observer.deletions &+ cancellations.withLock { $0 } }

    /// Records that an upload was cancelled in the database.
    func noteCancellation() { cancellations.withLock { $0 &+= 1 } }

    // MARK: Reading

    func page(_ lane: TransferLane, limit: Int, excluding held: Set<FileID>) async throws -> TransferPage {
        let now = wallClock().millisecondsSince1970
        let far = now + longestWait.milliseconds
        let changes = changes
        let (rows, next) = try await runner.read { db in
            // Held jobs come first in the order, so this many rows include a whole page of other jobs if there is one.
            var rows = try JobTable.due(lane: lane.rawValue, now: now, limit: limit + held.count, db)
            if rows.count < limit {
                rows += try JobTable.outOfReach(lane: lane.rawValue, furthest: far, limit: limit, db)
            }
            let next = try JobTable.nextDue(lane: lane.rawValue, after: now, furthest: far, db)
            return (rows, next)
        }
        var usable: [JobRow] = []
        var unusable: [(bytes: DatabaseValue, StorageError)] = []
        for row in rows {
            switch row.record {
            case .success(let job):
                if let error = job.keyError(in: namespace) {
                    unusable.append((row.place, error))
                } else {
                    usable.append(job)
                }
            case .failure(let error):
                unusable.append((row.place, StorageError(.invalidRequest, message: error.message, cause: error)))
            }
        }
        if !unusable.isEmpty {
            try await fail(unusable)
            return try await page(lane, limit: limit, excluding: held)
        }
        var jobs: [TransferJob] = []
        for row in usable where jobs.count < limit && !held.contains(row.id) {
            jobs.append(try row.job(now: now, changes: changes))
        }
        return TransferPage(jobs: jobs, nextDue: next.map { .milliseconds(max($0 - now, 1)) })
    }

    func check(_ job: TransferJob) async throws -> UploadDecision { try await check(job, looks: 3) }

    /// - Parameter looks: the maximum number of searches for the bytes, in case folders appear and disappear.
    private func check(_ job: TransferJob, looks: Int) async throws -> UploadDecision {
        guard let content = try await currentContent(of: job) else { return .skip(.notPending) }
        let id = job.id
        if let original = content.original, let decision = try await decision(on: original, of: job, content: content) {
            return decision
        }
        // If the disk is gone, the system may still have its names and the parts that were read in its cache.
        if job.lastError == .sourceUnreadable { _ = try await hasLostPlace() }
        let places = places
        let file: Descriptor?
        do {
            if let local = try places.store.open(id) {
                file = local
            } else {
                // The upload waits neither for a copy from another disk nor for free space. It reads the bytes in their
                // place.
                file = try await BlockingPool.uploads.run { _ in
                    try places.promoteAtOnce(id)
                    return try places.open(id)
                }
            }
        } catch let error as SystemError {
            if try await hasLostPlace(), looks > 1 { return try await check(job, looks: looks - 1) }
            throw UploadSource.failure("opened", error: error)
        }
        if let file { return try upload(job, of: file, content: content) }
        return try await checkOriginal(job, content: content, looks: looks)
    }

    private func upload(
        _ job: TransferJob, of file: Descriptor, content: TransferJob.Content
    ) throws -> UploadDecision {
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

    /// Decides about the upload of an original. Returns nil if it cannot be opened or has another stamp, so that its
    /// bytes must be compared.
    ///
    /// A disk other than that of the store may hang, such as a network share. The caller's thread may be that of all
    /// requests, so another one opens such an original, and reads it if it is small.
    private func decision(
        on original: OriginalFile, of job: TransferJob, content: TransferJob.Content
    ) async throws -> UploadDecision? {
        guard original.device != places.store.device else {
            return try unchangedUpload(job, original: original, content: content)
        }
        return try await BlockingPool.uploads.run { [self] flag -> UploadDecision? in
            let found = try unchangedUpload(job, original: original, content: content)
            guard job.byteCount < BlockingPool.handoverByteCount, case .upload(let source)? = found else {
                return found
            }
            var bytes: [UInt8] = []
            try source.forEachChunk(flag) { bytes.append(contentsOf: $0) }
            return bytes.count == job.byteCount ? .upload(self.source(of: bytes, content: content)) : nil
        }
    }

    private func unchangedUpload(
        _ job: TransferJob, original: OriginalFile, content: TransferJob.Content
    ) throws -> UploadDecision? {
        if let bytes = keptBytes(of: job, original: original) {
            return .upload(source(of: bytes, content: content))
        }
        return try unchanged(original).map { try upload(job, of: $0, content: content) }
    }

    /// Returns the bytes that were read when the original was attached, if they are kept and it is unchanged.
    private func keptBytes(of job: TransferJob, original: OriginalFile) -> [UInt8]? {
        guard let bytes = places.staging.originalBytes.take(job.id), bytes.count == job.byteCount else { return nil }
        do { return try original.isUnchanged() ? bytes : nil } catch { return nil }
    }

    private func source(of bytes: [UInt8], content: TransferJob.Content) -> UploadSource {
        UploadSource(
            byteCount: Int64(bytes.count), sha256: content.sha256, crc64: content.crc64,
            contentType: content.contentType, name: content.name
        ) { buffer, offset in
            let rest = bytes.dropFirst(Int(offset)).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        }
    }

    /// Opens an original. Returns nil if it cannot be opened or has another stamp.
    private func unchanged(_ original: OriginalFile) throws -> Descriptor? {
        do { return try original.openUnchanged() } catch is SystemError { return nil }
    }

    /// Decides about an upload of which this device has no copy. Its original may have the bytes. An original that was
    /// changed cannot be uploaded any more, because the row describes other bytes.
    private func checkOriginal(
        _ job: TransferJob, content: TransferJob.Content, looks: Int
    ) async throws -> UploadDecision {
        let finding: Originals.Finding
        do {
            finding = try await originals.find(job.id, byteCount: job.byteCount, sha256: content.sha256)
        } catch let error as SystemError {
            throw UploadSource.failure("read", error: error)
        }
        switch finding {
        case .none: return try await absent(job.id, job: job, looks: looks)
        case .unchanged(let file): return try upload(job, of: file, content: content)
        case .away(_, let reason): throw StorageError(.sourceAbsent, message: reason, key: job.key)
        case .changed(let reason):
            return .fail(StorageError(.sourceChanged, message: "\(reason) It was not uploaded.", key: job.key))
        }
    }

    /// Returns the content that the job carries, or reads it again when rows were deleted or uploads cancelled since.
    /// Nil when the upload is no longer pending.
    private func currentContent(of job: TransferJob) async throws -> TransferJob.Content? {
        let age = wallClock().millisecondsSince1970 - job.content.readAt
        if job.content.changes == changes, (0...Self.freshness).contains(age) { return job.content }
        let file = try await runner.read { db in try FileTable.pending(job.id, db) }
        return file.map { file in
            TransferJob.Content(
                sha256: file.sha256, crc64: file.crc64, contentType: file.contentType, name: file.name,
                original: job.content.original)
        }
    }

    /// Returns whether the disk of one of the places has disappeared since the last search.
    private func hasLostPlace() async throws -> Bool {
        try await MissingFileSearch(runner: runner, places: places).refreshPlaces()
    }

    /// Decides about an upload whose bytes are in no known place. They may be in a place of another start that was not
    /// searched yet, or that is absent.
    private func absent(_ id: FileID, job: TransferJob, looks: Int) async throws -> UploadDecision {
        guard namespace.isOurs(job.key.rawValue) else { return .skip(.madeElsewhere) }
        switch try await MissingFileSearch(runner: runner, places: places).search(for: id) {
        case .here where looks > 1: return try await check(job, looks: looks - 1)
        case .here:
            throw StorageError(
                .sourceAbsent, message: "The bytes appear and disappear. Is a disk failing?", key: job.key)
        case .away(let reason): throw StorageError(.sourceAbsent, message: reason, key: job.key)
        case .nowhere:
            return .fail(
                StorageError(
                    .sourceChanged,
                    message: """
                        The file was made on this device, but its bytes are neither in \(places.store.path) nor in a \
                        persistence location.
                        """,
                    key: job.key))
        }
    }

    // MARK: Writing

    /// Marks rows as failed that another program has written and that cannot be uploaded, so that others can continue.
    private func fail(_ rows: [(bytes: DatabaseValue, StorageError)]) async throws {
        try await runner.write { db in
            for (bytes, error) in rows {
                try JobTable.fail(bytes: bytes, code: error.code.rawValue, message: error.message, db)
            }
        }
    }

    @discardableResult
    func record(_ outcomes: [TransferOutcome]) async throws -> Set<FileID> {
        let now = wallClock().millisecondsSince1970
        return try await runner.write { db in
            var discarded: Set<FileID> = []
            var noted = try FileTable.noteUploads(Self.uploads(in: outcomes), db)
            try JobTable.remove(noted, db)
            // A file that was uploaded twice is noted once.
            for outcome in outcomes where !(outcome.isUpload && noted.remove(outcome.job.id) != nil) {
                let isWanted = try OutcomeRecord(outcome, now: now).save(db)
                if !isWanted { discarded.insert(outcome.job.id) }
            }
            let successes = outcomes.compactMap(\.isSuccess)
            if successes.contains(true) { try StateTable.noteFailing(nil, db) }
            if successes.last == false { try StateTable.noteFailing(now, db) }
            return discarded
        }
    }

    /// Returns the files that the storage has accepted, each once.
    private static func uploads(in outcomes: [TransferOutcome]) -> [FileTable.Uploaded] {
        var ids: Set<FileID> = []
        return outcomes.compactMap { outcome in
            guard case .uploaded(let object) = outcome.result, ids.insert(outcome.job.id).inserted else { return nil }
            return (outcome.job.id, object.url, FileRow.Proof(object.proof))
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

/// The outcome of one upload, to be written into its rows if they still wait for it. The usual one, a `local` file that
/// the storage has accepted, is written before.
private struct OutcomeRecord {
    private let outcome: TransferOutcome
    private let now: Int64

    init(_ outcome: TransferOutcome, now: Int64) {
        self.outcome = outcome
        self.now = now
    }

    /// - Returns: false for an upload whose row was deleted in the meantime.
    func save(_ db: Database) throws -> Bool {
        let (id, attempt) = (outcome.job.id, JobTable.Attempt(outcome.job.id, turn: outcome.job.turn))
        switch outcome.result {
        case .uploaded(let object): return try saveUpload(object, db)
        case .retry(let error, let delay, let tries):
            try JobTable.putOff(
                attempt, until: now + delay.milliseconds, attempts: tries.count, code: error.code.rawValue,
                message: error.message, sentBytes: tries.sending.byteCount,
                sentSince: tries.sending.byteCount > 0 ? now - tries.sending.age.milliseconds : 0, db)
        // The job stays due and keeps its own last error. This error concerns the whole storage. See `lfs_state`.
        case .waiting: break
        case .failed(let error):
            try JobTable.fail(attempt, code: error.code.rawValue, message: error.message, db)
        case .skipped(.madeElsewhere): try JobTable.remove([id], db)
        case .skipped(.notPending): try JobTable.removeWithoutFile(id, db)
        case .givenBack: break
        }
        return true
    }

    private func saveUpload(_ object: RemoteObject, _ db: Database) throws -> Bool {
        let id = outcome.job.id
        if try FileTable.contains(id, db) {
            // The row was already `remote`. Its object was missing or wrong and has been uploaded again.
            if try JobTable.finish(id, replacedObject: outcome.job.replacesObject, now: now, db) {
                try FileTable.noteUploadAgain(id, url: object.url, proof: FileRow.Proof(object.proof), db)
            }
            return true
        }
        // The row was deleted during the upload, so the new object must be deleted too. Its tombstone has waited for
        // that. Without a tombstone the row was not deleted: an older copy of the database was restored during the
        // upload.
        try TombstoneTable.makeDueAgain(id, db)
        return false
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
    fileprivate var isUpload: Bool {
        switch result {
        case .uploaded: true
        case .retry, .waiting, .failed, .skipped, .givenBack: false
        }
    }

    /// True if the storage has accepted the file. Nil if the storage was not asked, or not to the end.
    fileprivate var isSuccess: Bool? {
        switch result {
        case .uploaded: true
        case .retry, .waiting, .failed: false
        case .skipped, .givenBack: nil
        }
    }
}
