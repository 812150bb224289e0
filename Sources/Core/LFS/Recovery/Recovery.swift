import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// The repair of a database when it is opened: files between commit and promotion, orphans, and jobs without a file.
struct Recovery: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let gracePeriod: Duration
    /// The time for which an unfinished download is kept.
    let downloadGracePeriod: Duration
    let wallClock: @Sendable () -> Date

    private static let batch = 500

    private var orphans: Orphans { Orphans(runner: runner) }

    /// Promotes committed files. With `sweeps`, removes orphans that are older than the grace period.
    ///
    /// - Parameter sweeps: only for the holder of the store's exclusive open lock. No other process has the database
    ///   open then, so none can be about to insert a file that has no row yet.
    func repair(sweeps: Bool) async throws {
        // Before anything is removed, and before a new row makes the database look as if it knew these files.
        if sweeps, try await hasUnknownFile() { try await orphans.doubtAllUntilNow(wallClock()) }
        let age = try await orphans.age(gracePeriod, now: wallClock())
        let places = places
        let swept = try await BlockingPool.shared.run { _ in sweeps ? try places.beginSweep() : [] }
        let result = await Result.catching {
            // First, because it frees space.
            if sweeps { try await sweepIncoming() }
            try await Promoter(runner: runner, places: places).promoteAll { area, file in
                if age.isOver(file), swept.contains(where: { $0 === area }) { try area.remove(file.id) }
            }
        }
        // Also after an error, because other processes wait for these locks.
        try await BlockingPool.shared.run { _ in try places.endSweep(swept) }
        try result.get()
        if sweeps { try await removeOrphanedJobs() }
    }

    /// Returns whether the store has a file whose row was committed after the last row of this database. The database
    /// then lacks rows, because it is a restored backup or because a power failure undid its last commits.
    ///
    /// For files older than the last row only the names are read, so a clean store costs one listing. A file in a
    /// staging area does not count, because it may never have been inserted.
    private func hasUnknownFile() async throws -> Bool {
        let (last, from) = try await runner.read(StateTable.times)
        // A file is made before its row is committed. The app decides how long before.
        let earliest = max(from, last - gracePeriod.milliseconds + 1)
        let store = places.store
        let cursor = try await BlockingPool.shared.run { _ in try store.files() }
        var recent: [FileID] = []
        while let page = try await BlockingPool.shared.run({ _ in try cursor.nextIDs() }) {
            recent += page.filter { $0.tellsTime && $0.milliseconds >= earliest }
            if recent.count < Self.batch { continue }
            if try await hasUnknown(recent) { return true }
            recent = []
        }
        return try await hasUnknown(recent)
    }

    private func hasUnknown(_ ids: [FileID]) async throws -> Bool {
        let store = places.store
        for id in try await orphans.among(ids) {
            let status = try await BlockingPool.shared.run { _ in try store.status(of: id) }
            if status?.isRegularFile == true { return true }
        }
        return false
    }

    /// Removes jobs without a file, which never start and would count as pending for ever.
    private func removeOrphanedJobs() async throws {
        guard try await runner.read(JobTable.hasOrphan) else { return }
        try await runner.write { db in try JobTable.removeOrphans(db) }
    }

    /// Removes the remains of unfinished downloads and copies. A download that can be resumed is kept while its row
    /// exists and its own grace period lasts.
    private func sweepIncoming() async throws {
        let store = places.store
        let unfinished = try await BlockingPool.shared.run { _ in try store.clearIncoming() }
        let limit = wallClock().nanosecondsSince1970 - downloadGracePeriod.nanoseconds
        let stale = unfinished.filter { $0.changed <= limit }.map(\.id)
        var wanted: Set<FileID> = []
        let recent = unfinished.filter { $0.changed > limit }.map(\.id)
        for ids in recent.chunks(of: Self.batch) {
            wanted.formUnion(try await runner.read { db in try FileTable.existing(ids, db) })
        }
        let unwanted = stale + recent.filter { !wanted.contains($0) }
        try await BlockingPool.shared.run { _ in
            for id in unwanted { try store.removeUnfinished(id) }
        }
    }
}
