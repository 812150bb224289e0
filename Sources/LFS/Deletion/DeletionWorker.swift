import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging

/// Carries out tombstones: local bytes, then the remote object, again until both are gone and the storage confirms it.
///
/// A deletion is begun durably before any byte goes, because a power cut may take back the commit that made it.
/// From then on its id cannot be inserted again; until then inserting the file again takes the tombstone back.
///
/// One that is held is not begun. One that leaves the object has nothing to ask the storage, so it does not wait for
/// it.
struct DeletionWorker: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let storage: any RemoteStorage
    let policy: RetryPolicy
    let wallClock: @Sendable () -> Date
    /// How long until those are looked at again that wait for their upload to end.
    let pollInterval: Duration
    /// Knows whether the storage as a whole is away: then local bytes go, and objects wait.
    let pool: ExecutorPool
    /// The files whose uploads run: their objects may still appear, so they wait.
    let uploading: @Sendable () -> Set<FileID>
    /// Drops uploads that have not begun, which may wait for long; takes files, returns those whose uploads run.
    let withdraw: @Sendable (Set<FileID>) -> Set<FileID>
    /// Takes the files that are gone, after each round.
    let onProgress: @Sendable ([FileID]) -> Void
    let telemetry: Telemetry
    let lifecycle: Lifecycle
    /// Rings when there may be something to delete.
    let tombstones: Signal
    let clock: any Clock<Duration>
    let logger: Logger

    private static let batch = 100
    private static let parallel = 4

    /// Works until the stop.
    func run() async {
        while !lifecycle.isStopRequested {
            var wait: Duration?
            do {
                wait = try await workOff()
            } catch {
                logger.debug("deleting failed, will retry", metadata: ["error.message": "\(error)"])
                wait = pollInterval
            }
            await lifecycle.stop.wait(orFor: tombstones, atMost: wait, clock: clock)
        }
    }

    /// Carries out what is due, round by round. Returns how long until more is due; nil when nothing is left, or what
    /// is left waits for the storage.
    func workOff() async throws -> Duration? {
        while !lifecycle.isStopRequested, !Task.isCancelled {
            // What stands against a deletion that an owner asks for must not hold up the others.
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
            let results = await remove(due, admission)
            try await record(results)
            onProgress(results.filter { $0.error == nil && !$0.waits }.compactMap(\.tombstone.id))
        }
        return nil
    }

    private enum Choice {
        case all
        /// Those that were not begun yet, and those that leave the object.
        case withoutStorage
        case one
    }

    /// One tombstone to ask the storage with; when there is none the leave is given back.
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
        pool.endDeletion(admission, StorageError(.cancelled, "Nothing was asked."))
    }

    private func begin(_ choice: Choice) async throws -> ([Tombstone], Duration?) {
        let now = wallClock().millisecondsSince1970
        let busy = uploading()
        let far = now + policy.maxRetryAfter.milliseconds
        let rows = try await runner.read { db in
            try TombstoneTable.due(
                now: now, furthest: far, withoutStorage: choice == .withoutStorage, limit: Self.batch + busy.count,
                db)
        }
        try await putOff(rows, until: far)
        let due = rows.compactMap(\.readable).filter { !$0.isAmong(busy) }
        if due.isEmpty {
            let next = try await runner.read { db in
                [try TombstoneTable.nextDue(after: now, db), try DisownedTable.nextDue(after: now, db)]
            }
            var wait = next.compactMap(\.self).min().map { Duration.milliseconds(max($0 - now, 1)) }
            // Those that wait for their upload have no time of their own.
            if rows.contains(where: { $0.readable?.isAmong(busy) == true }) {
                wait = min(wait ?? pollInterval, pollInterval)
            }
            return ([], wait)
        }
        let ids = due.prefix(choice == .one ? 1 : Self.batch).map(\.fileID)
        let begun = try await NoSpace.withSpareRoom(of: places.store) {
            try await runner.writeDurably { db in try TombstoneTable.beginRemoval(of: ids, db) }
        }
        // An upload may have begun between the two looks; its tombstone waits for the next round. One that begins from
        // here on reads the row again, and finds it gone.
        let nowBusy = withdraw(Set(begun.compactMap(\.id)))
        return (begun.filter { !$0.isAmong(nowBusy) }, nowBusy.isEmpty ? nil : pollInterval)
    }

    /// Tombstones that another program has written and that cannot be read do not stand in the others' way. A
    /// verification tells them.
    private func putOff(_ rows: [RowResult<Tombstone>], until time: Int64) async throws {
        let unreadable = rows.compactMap { row in row.problem.map { (place: row.place, reason: $0.message) } }
        if unreadable.isEmpty { return }
        try await runner.write { db in
            for (place, reason) in unreadable {
                try TombstoneTable.putOffUnreadable(place, until: time, reason, db)
            }
        }
    }

    private struct Removal: Sendable {
        var tombstone: Tombstone
        var error: StorageError?
        /// Whether the object waits for a storage that is away: nothing was tried.
        var waits = false
    }

    private func remove(_ tombstones: [Tombstone], _ admission: Admission?) async -> [Removal] {
        await runEach(tombstones, atMost: Self.parallel) { await remove($0, admission) }
    }

    private func remove(_ tombstone: Tombstone, _ given: Admission?) async -> Removal {
        // What cannot be removed here must not keep the object, which others pay for and may read.
        let here = await failure { try await removeHere(tombstone) }
        if !tombstone.removesObject {
            giveBack(given)
            return Removal(tombstone: tombstone, error: here)
        }
        guard let admission = given ?? pool.admitDeletion() else { return Removal(tombstone: tombstone, waits: true) }
        let there = await telemetry.delete { await failure { try await removeThere(tombstone) } }
        pool.endDeletion(admission, there)
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
        // No storage takes such a key, so there is no object of ours under it.
        guard let key = ObjectKey.usable(tombstone.key) else { return }
        let kept = tombstone.checkpoint.map(UploadCheckpoint.init(rawValue:))
        try await storage.delete(key, abandoning: CheckpointEnvelope(storage.capabilities).open(kept))
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
                // We stopped it, so it was no try.
                if error.code == .cancelled, isStopped { continue }
                // What is refused today may be allowed tomorrow, so even that is tried again, at the longest interval.
                let delay =
                    error.isRetryable
                    ? policy.delay(afterFailures: removal.tombstone.attempts + 1, error) : policy.maxRetryAfter
                try TombstoneTable.putOff(
                    removal.tombstone.fileID, until: now + delay.milliseconds, error.message, db)
            }
        }
    }
}

extension Tombstone {
    fileprivate func isAmong(_ ids: Set<FileID>) -> Bool { id.map(ids.contains) ?? false }
}
