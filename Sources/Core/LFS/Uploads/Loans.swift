import Foundation
import GRDB
package import LFSDatabase
package import LFSFiles
package import LFSStorage
package import LFSSystem
package import LFSTransfer
package import Logging
import Synchronization

/// The loans of uploads to a service of the system, which moves their bytes while the app does not run.
///
/// Nothing that the service reports is believed. When a loan ends, the job is due, and the ordinary upload asks the
/// storage for the bytes that it has and takes its usual confirmation.
package final class Loans: Sendable {
    /// Cancels all tasks of files and ends their loans.
    package typealias Recall = @Sendable (Set<FileID>) async throws -> Void

    /// An upload that was lent, and whose parts are not known yet.
    package struct Upload: Sendable {
        package let job: TransferJob
        package let loan: LoanRow
    }

    package let storage: any RemoteStorage
    /// The name of the database's keys on the storage, which also identifies the database.
    package let namespace: String
    package let logger: Logger
    private let keys: Namespace
    private let runner: BackgroundRunner
    private let places: FileLocations
    private let pool: ExecutorPool
    private let journal: DatabaseJournal
    private let envelope: CheckpointEnvelope
    private let wallClock: @Sendable () -> Date
    private let wakeDeletions: @Sendable () -> Void
    private let recall = Mutex<Recall?>(nil)

    init(
        namespace: Namespace, runner: BackgroundRunner, places: FileLocations, pool: ExecutorPool,
        journal: DatabaseJournal, options: LFSOptions, wakeDeletions: @escaping @Sendable () -> Void
    ) {
        storage = options.storage
        self.namespace = namespace.text
        keys = namespace
        logger = options.logger
        self.runner = runner
        self.places = places
        self.pool = pool
        self.journal = journal
        envelope = CheckpointEnvelope(options.storage.capabilities)
        wallClock = options.wallClock
        self.wakeDeletions = wakeDeletions
    }

    private var now: Int64 { wallClock().millisecondsSince1970 }

    // MARK: Lending

    /// Lends the oldest due uploads that are not under way. An upload that replaces a damaged object is not lent,
    /// because the storage could not show which object the service has written.
    ///
    /// - Parameter time: the time of the loan, at most ``LoanTable/longest``.
    package func lend(
        upTo limit: Int, for time: Duration, excluding excluded: Set<FileID>
    ) async throws -> [Upload] {
        let (now, keys) = (now, keys)
        let until = now + min(time, LoanTable.longest).milliseconds
        let busy = excluded.union(pool.underWayIDs)
        let lent = try await runner.write { db in
            let rows = try TransferLane.allCases.flatMap { lane in
                try JobTable.due(lane: lane.rawValue, now: now, limit: limit + busy.count, db).compactMap(\.readable)
            }
            let free = rows.filter { !busy.contains($0.id) && !$0.replacesObject && $0.keyError(in: keys) == nil }
            let oldest = free.sorted { ($0.notBefore, $0.id) < ($1.notBefore, $1.id) }.prefix(limit)
            return try oldest.compactMap { row -> Upload? in
                guard let loan = try LoanTable.lend(row, until: until, db) else { return nil }
                return Upload(job: try row.job(now: now, changes: 0), loan: loan)
            }
        }
        // The pool may have the jobs in memory.
        let begun = pool.withdraw(Set(lent.map(\.job.id)))
        if !begun.isEmpty { try await giveBack(begun) }
        return lent.filter { !begun.contains($0.job.id) }
    }

    /// Returns the bytes of a lent upload. Returns nil if the upload is not needed, or fails for a reason that the
    /// ordinary upload records.
    package func source(of upload: Upload) async throws -> UploadSource? {
        let decision = try await withTaskExecutorPreference(BlockingPool.uploads) {
            try await journal.check(upload.job)
        }
        if case .upload(let source) = decision { return source }
        return nil
    }

    /// Returns a session that saves the checkpoints of a lent upload in its job.
    package func session(of upload: Upload) -> UploadSession {
        let (journal, envelope) = (journal, envelope)
        return UploadSession(
            checkpoint: envelope.open(upload.job.checkpoint),
            onSave: { checkpoint in try await journal.save(envelope.seal(checkpoint), for: upload.job) })
    }

    /// Returns the time until the loan of an upload ends. Returns nil for less than a second, which is the shortest
    /// lifetime of a signed request.
    package func remainingTime(of upload: Upload) -> Duration? {
        let time = Duration.milliseconds(upload.loan.until - now)
        return time < .seconds(1) ? nil : min(time, LoanTable.longest)
    }

    /// Records the parts of a lent upload. Call it before the task of the first one starts.
    ///
    /// - Returns: false if the loan has ended or was taken back in the meantime. Then no task may start.
    package func begin(_ upload: Upload, parts: [LentPart]) async throws -> Bool {
        let now = now
        return try await runner.write { db in try LoanTable.begin(upload.loan, parts: parts, now: now, db) }
    }

    // MARK: Ending

    /// Returns the recorded parts. Rows that another program has written in an unreadable form are removed.
    package func rows() async throws -> [LoanRow] {
        let now = now
        let rows = try await runner.readThroughCancellation { db in try LoanTable.all(now: now, db) }
        let unreadable = rows.compactMap { row in row.problem.map { (bytes: row.place, reason: $0.message) } }
        if !unreadable.isEmpty {
            for row in unreadable { logger.notice("removed a loan", metadata: ["reason": "\(row.reason)"]) }
            try await runner.write { db in
                for row in unreadable { try LoanTable.remove(bytes: row.bytes, db) }
            }
        }
        return rows.compactMap(\.readable)
    }

    /// Records that the task of a part has ended. The last part of a file makes its upload due at once.
    ///
    /// - Returns: false for a part that is not recorded.
    @discardableResult
    package func end(_ part: LentPart) async throws -> Bool {
        let now = now
        let isRecorded = try await runner.write { db in try LoanTable.end(part, now: now, db) }
        wake()
        return isRecorded
    }

    /// Ends the loans of files. Their uploads, or their deletions, are due at once.
    package func giveBack(_ ids: Set<FileID>) async throws {
        let now = now
        try await runner.write { db in
            for id in ids { try LoanTable.end(id, now: now, db) }
        }
        wake()
    }

    private func wake() {
        pool.wake()
        wakeDeletions()
    }

    // MARK: Taking back

    /// Sets the function that takes loans back, or removes it with nil.
    package func onRecall(_ body: Recall?) { recall.withLock { $0 = body } }

    /// Takes the loans of files back, so that nothing writes their objects any more. The tasks of a loan whose time is
    /// over are cancelled too, because the service may start them late.
    ///
    /// - Returns: those that are still lent. Without a function that cancels the tasks, they are lent until the loan
    ///   ends.
    func takeBack(_ ids: Set<FileID>) async throws -> Set<FileID> {
        if ids.isEmpty { return [] }
        let recorded = try await runner.read { db in try LoanTable.recorded(ids, db) }
        if recorded.isEmpty { return [] }
        if let recall = recall.withLock({ $0 }) {
            do {
                try await recall(recorded)
            } catch {
                logger.notice("tasks of loans were not cancelled", metadata: ["error.message": "\(error)"])
            }
        }
        return try await lent(among: recorded)
    }

    private func lent(among ids: Set<FileID>) async throws -> Set<FileID> {
        let now = now
        return try await runner.read { db in try LoanTable.lent(ids, now: now, db) }
    }

    // MARK: Part files

    /// Opens the folder of the parts, and creates it if it is missing.
    package func outgoing() async throws -> OutgoingFolder {
        let store = places.store
        return try await BlockingPool.shared.run { _ in try OutgoingFolder(in: store) }
    }

    /// Opens the folder of the parts. Returns nil if it does not exist.
    package func existingOutgoing() async throws -> OutgoingFolder? {
        let store = places.store
        return try await BlockingPool.shared.run { _ in try OutgoingFolder.find(in: store) }
    }
}
