import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging

/// A worker that carries out tombstones. It removes the local bytes and the remote object, and retries until both are
/// gone and the storage confirms it.
///
/// A deletion is begun durably before any byte is removed, because a power failure may undo the commit that requested
/// it. From then on its id cannot be inserted again. Before that, inserting the file again cancels the tombstone.
///
/// A held deletion is not begun. A deletion that keeps the object does not need the storage, so it does not wait for
/// it.
struct DeletionWorker: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let storage: any RemoteStorage
    let policy: RetryPolicy
    let wallClock: @Sendable () -> Date
    /// The interval of checks for deletions that wait for their upload to end.
    let retryInterval: Duration
    /// Knows whether the whole storage is unavailable. In that case local bytes are removed, and objects stay pending.
    let pool: ExecutorPool
    /// Returns the files whose uploads are running. Their objects may still appear, so their deletions wait.
    let uploading: @Sendable () -> Set<FileID>
    /// Removes uploads that have not begun from the pool, because they may be delayed for long. Returns the files whose
    /// uploads are running.
    let withdraw: @Sendable (Set<FileID>) -> Set<FileID>
    /// Takes back the uploads that are lent to a service of the system. Returns those that are still lent. The service
    /// may still write their objects, so their deletions wait.
    let takeBack: @Sendable (Set<FileID>) async throws -> Set<FileID>
    /// Receives the deleted files after each round.
    let onProgress: @Sendable ([FileID]) -> Void
    let telemetry: Telemetry
    let lifecycle: Lifecycle
    /// Notified when there may be files to delete.
    let tombstones: Signal
    let clock: any Clock<Duration>
    let logger: Logger

    private static let batch = 100
    private static let parallel = 4

    /// Works until a suspension or the stop.
    func run() async {
        while !lifecycle.isEnding {
            var wait: Duration?
            do {
                wait = try await workOff()
            } catch {
                logger.debug("deleting failed, will retry", metadata: ["error.message": "\(error)"])
                wait = retryInterval
            }
            await lifecycle.ending.wait(orFor: tombstones, atMost: wait, clock: clock)
        }
    }

    /// Carries out the due deletions, round by round. Returns the time until more are due. Nil when none is left, or
    /// the remaining ones wait for the storage.
    func workOff() async throws -> Duration? {
        while !lifecycle.isEnding, !Task.isCancelled {
            // An error of one owner's deletion must not delay the others.
            var failure: (any Error)?
            do {
                try await DisownedFiles(runner: runner, policy: policy, wallClock: wallClock).delete()
            } catch {
                failure = error
            }
            let isAway = pool.isAway
            var (due, next) = try await begin(isAway ? .withoutStorage : .all)
            var admission: Admission?
            if due.isEmpty, isAway {
                admission = pool.admitDeletion()
                if admission != nil { (due, next) = try await beginProbe(admission) }
            }
            if due.isEmpty {
                if let failure { throw failure }
                return next
            }
            let results = await remove(due, admission: admission)
            try await record(results)
            onProgress(results.filter { $0.error == nil && !$0.waits }.compactMap(\.tombstone.id))
        }
        return nil
    }

    private enum Choice {
        case all
        /// Deletions that were not begun yet, and those that keep the object.
        case withoutStorage
        case one
    }

    /// Begins one deletion as a probe of the storage. Without a due deletion the admission is given back.
    private func beginProbe(_ admission: Admission?) async throws -> ([Tombstone], Duration?) {
        do {
            let begun = try await begin(.one)
            if begun.0.isEmpty { giveBack(admission) }
            return begun
        } catch {
            giveBack(admission)
            throw error
        }
    }

    private func giveBack(_ admission: Admission?) {
        guard let admission else { return }
        pool.endDeletion(admission, error: StorageError(.cancelled, message: "No deletion was due."))
    }

    private func begin(_ choice: Choice) async throws -> ([Tombstone], Duration?) {
        let now = wallClock().millisecondsSince1970
        let uploading = uploading()
        let far = now + policy.maxRetryAfter.milliseconds
        let rows = try await runner.read { db in
            // Deletions that wait for their uploads must not fill the page.
            let lentCount = try LoanTable.deletedCount(now: now, db)
            return try TombstoneTable.due(
                now: now, furthest: far, withoutStorage: choice == .withoutStorage,
                limit: Self.batch + uploading.count + lentCount, db)
        }
        try await putOff(rows, until: far)
        let busy = try await uploading.union(takeBack(Set(rows.compactMap { $0.readable?.id })))
        let due = rows.compactMap(\.readable).filter { !$0.isAmong(busy) }
        if due.isEmpty {
            let next = try await runner.read { db in
                [try TombstoneTable.nextDue(after: now, db), try OwnerlessFileTable.nextDue(after: now, db)]
            }
            var wait = next.compactMap(\.self).min().map { Duration.milliseconds(max($0 - now, 1)) }
            // Deletions that wait for their upload have no due time.
            if rows.contains(where: { $0.readable?.isAmong(busy) == true }) {
                wait = min(wait ?? retryInterval, retryInterval)
            }
            return ([], wait)
        }
        let ids = due.prefix(choice == .one ? 1 : Self.batch).map(\.fileID)
        let begun = try await DiskSpace.withReserve(of: places.store) {
            try await runner.writeDurably { db in try TombstoneTable.beginRemoval(of: ids, db) }
        }
        // An upload may have begun between the two checks. Its tombstone waits for the next round. A later upload reads
        // the row again, and finds it deleted.
        let nowBusy = withdraw(Set(begun.compactMap(\.id)))
        return (begun.filter { !$0.isAmong(nowBusy) }, nowBusy.isEmpty ? nil : retryInterval)
    }

    /// Delays tombstones that another program has written and that cannot be read, so that they do not block the
    /// others. A verification reports them.
    private func putOff(_ rows: [RowResult<Tombstone>], until time: Int64) async throws {
        let unreadable = rows.compactMap { row in row.problem.map { (bytes: row.place, reason: $0.message) } }
        if unreadable.isEmpty { return }
        try await runner.write { db in
            for (bytes, reason) in unreadable {
                try TombstoneTable.putOff(bytes: bytes, until: time, reason: reason, db)
            }
        }
    }

    private struct Removal: Sendable {
        var tombstone: Tombstone
        var error: StorageError?
        /// True if the object waits for an unavailable storage, and no deletion was attempted.
        var waits = false
    }

    private func remove(_ tombstones: [Tombstone], admission: Admission?) async -> [Removal] {
        await runEach(tombstones, atMost: Self.parallel) { await remove($0, given: admission) }
    }

    private func remove(_ tombstone: Tombstone, given: Admission?) async -> Removal {
        // A local failure must not keep the object, which costs money and may be readable by others.
        let here = await failure { try await removeHere(tombstone) }
        if !tombstone.removesObject {
            giveBack(given)
            return Removal(tombstone: tombstone, error: here)
        }
        guard let admission = given ?? pool.admitDeletion() else { return Removal(tombstone: tombstone, waits: true) }
        let there = await telemetry.delete { await failure { try await removeThere(tombstone) } }
        pool.endDeletion(admission, error: there)
        if there?.isAboutStorage == true { return Removal(tombstone: tombstone, waits: true) }
        return Removal(tombstone: tombstone, error: there ?? here)
    }

    private func failure(_ removal: () async throws -> Void) async -> StorageError? {
        do {
            try await removal()
            return nil
        } catch {
            let failure = StorageError(wrapping: error)
            return failure.isMissing ? nil : failure
        }
    }

    private func removeHere(_ tombstone: Tombstone) async throws {
        guard let id = tombstone.id else { return }
        let places = places
        try await BlockingPool.shared.run { _ in
            try places.remove(id)
            try places.store.removeUnfinished(id)
            try places.store.removeQuarantined(id)
        }
    }

    private func removeThere(_ tombstone: Tombstone) async throws {
        // No storage accepts such a key, so this database has no object under it.
        guard let key = ObjectKey.usable(tombstone.key) else { return }
        if try await isNeeded(key, besides: tombstone) { return }
        let kept = tombstone.checkpoint.map(UploadCheckpoint.init(rawValue:))
        try await storage.delete(key, abandoning: CheckpointEnvelope(storage.capabilities).open(kept))
    }

    /// Returns true if another file has the key of the deleted one. Its object must stay then.
    private func isNeeded(_ key: ObjectKey, besides tombstone: Tombstone) async throws -> Bool {
        if tombstone.hasOwnKey { return false }
        do {
            return try await runner.read { db in
                if try TombstoneTable.isHeld(key: key.rawValue, db) { return true }
                return try !FileTable.used([key.rawValue], db).isEmpty
            }
        } catch let error where !(error is CancellationError) {
            throw StorageError(
                .databaseFailed, message: "The rows with the key of the object could not be read: \(error)", key: key,
                cause: error)
        }
    }

    private func record(_ removals: [Removal]) async throws {
        let now = wallClock().millisecondsSince1970
        let policy = policy
        let isStopped = Task.isCancelled
        try await runner.write { db in
            for removal in removals where !removal.waits {
                guard let error = removal.error else {
                    try TombstoneTable.removeDone(removal.tombstone.fileID, db)
                    continue
                }
                // The stop cancelled it, so it does not count as an attempt.
                if error.code == .cancelled, isStopped { continue }
                // A refused deletion may be permitted later, so it is retried too, at the longest interval.
                let delay =
                    error.isRetryable
                    ? policy.delay(afterFailures: removal.tombstone.attempts + 1, error) : policy.maxRetryAfter
                try TombstoneTable.putOff(
                    removal.tombstone.fileID, until: now + delay.milliseconds, reason: error.message, db)
            }
        }
    }
}

extension Tombstone {
    fileprivate func isAmong(_ ids: Set<FileID>) -> Bool { id.map(ids.contains) ?? false }

    /// True if the key ends with the file's id. Only another program can have written a row with another key.
    fileprivate var hasOwnKey: Bool { id.map { key == $0.text || key.hasSuffix("/\($0.text)") } ?? false }
}
