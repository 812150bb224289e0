import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// What an open has to put right: files between commit and promotion, and orphans.
struct Recovery: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let gracePeriod: Duration
    /// How long an unfinished download is kept.
    let downloadGracePeriod: Duration
    let wallClock: @Sendable () -> Date

    private static let batch = 500

    private var orphans: Orphans { Orphans(runner: runner) }

    /// Promotes what was committed. With `sweeps`, removes orphans that are older than the grace period.
    ///
    /// - Parameter sweeps: only for the holder of the store's exclusive open lock: nobody else has the database open
    ///   then, so no other process can be about to insert a file that has no row yet.
    func repair(sweeps: Bool) async throws {
        // Before anything is removed, and before any row is written that would make it look as if it knew them.
        if sweeps, try await hasUnknownFile() { try await orphans.doubtAllUntilNow(wallClock()) }
        let age = try await orphans.age(gracePeriod, now: wallClock())
        let places = places
        let swept = try await BlockingPool.shared.run { _ in sweeps ? try places.beginSweep() : [] }
        // First, since it makes room.
        if sweeps { try await sweepIncoming() }
        let result = await Result.catching {
            try await Promoter(runner: runner, places: places).promoteAll { area, file in
                if age.isOver(file), swept.contains(where: { $0 === area }) { try area.remove(file.id) }
            }
        }
        // Whatever came of it: others wait for these locks.
        try await BlockingPool.shared.run { _ in try places.endSweep(swept) }
        try result.get()
    }

    /// Whether the store has a file of a row that was committed after the last one this database has: somebody knew it
    /// and this database does not, because it is a backup that was put back, or because a power cut took back its
    /// commits.
    ///
    /// Only names are read of what is older than the last row, so a clean store costs one listing. A file that waits in
    /// a staging area is no sign, since nobody may ever have inserted it.
    private func hasUnknownFile() async throws -> Bool {
        let (last, from) = try await runner.read(StateTable.times)
        // It was made before its row was committed; how long before is the host's business.
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

    /// Removes what unfinished downloads and copies have left, but for downloads that can be gone on with: they stay as
    /// long as their row does and their own grace period lasts.
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
