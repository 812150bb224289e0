import Foundation
import GRDB
import LFSFiles
import LFSSystem

/// What an open has to put right: files between commit and promotion, and files that no row claims.
struct Recovery: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let gracePeriod: Duration
    /// How long an unfinished download is kept.
    let downloadGracePeriod: Duration
    let wallClock: @Sendable () -> Date

    /// Promotes what was committed. With `sweeps`, removes what no row claims and is older than the grace period.
    ///
    /// - Parameter sweeps: only for the holder of the store's exclusive lease: nobody else has the database open then,
    ///   so no other process can be about to insert a file that has no row yet.
    func repair(sweeps: Bool) async throws {
        let sweepable = try await sweepable()
        try await Promoter(runner: runner, places: places).promoteAll { area, file in
            if sweeps, sweepable(file) { try area.remove(file.id) }
        }
        if sweeps { try await sweepIncoming() }
    }

    /// Removes what unfinished downloads and copies have left, but for downloads that can be gone on with: they stay as
    /// long as their row does and their own grace period lasts.
    private func sweepIncoming() async throws {
        let store = places.store
        let unfinished = try await BlockingPool.shared.run { _ in try store.clearIncoming() }
        let limit = wallClock().nanosecondsSince1970 - downloadGracePeriod.nanoseconds
        let stale = unfinished.filter { $0.changed <= limit }.map(\.id)
        var wanted: Set<String> = []
        let recent = unfinished.filter { $0.changed > limit }.map(\.id)
        for start in stride(from: 0, to: recent.count, by: 500) {
            let ids = recent[start..<min(start + 500, recent.count)].map(\.text)
            let marks = databaseQuestionMarks(count: ids.count)
            wanted.formUnion(
                try await runner.read { db in
                    try String.fetchAll(
                        db, sql: "SELECT id FROM lfs_file WHERE id IN (\(marks))", arguments: StatementArguments(ids))
                })
        }
        let unwanted = stale + recent.filter { !wanted.contains($0.text) }
        try await BlockingPool.shared.run { _ in
            for id in unwanted { try store.removeUnfinished(id) }
        }
    }

    /// Which files may be swept if no row claims them: those whose grace period is over, and none that an older copy of
    /// the database cannot know.
    private func sweepable() async throws -> @Sendable (FileCursor.Entry) -> Bool {
        let limit = wallClock().nanosecondsSince1970 - gracePeriod.nanoseconds
        let from = try await runner.read { db in try Int64.fetchOne(db, sql: "SELECT sweepsFrom FROM lfs_state") ?? 0 }
        return { $0.changed <= limit && $0.id.milliseconds >= from }
    }

    /// Gives every file in the local store that no row claims a tombstone, so that its bytes go here and on the remote
    /// storage: a power cut can take back the commit of a row whose file was promoted, and even uploaded, already.
    func sweepStore(namespace: String) async throws {
        let sweepable = try await sweepable()
        let cursor = try places.store.files()
        while let page = try await BlockingPool.shared.run({ _ in try cursor.next() }) {
            let texts = page.filter(sweepable).map(\.id.text)
            if texts.isEmpty { continue }
            let marks = databaseQuestionMarks(count: texts.count)
            let unclaimed = try await runner.read { db in
                let claimed = try Set(
                    String.fetchAll(
                        db,
                        sql: """
                            SELECT id FROM lfs_file WHERE id IN (\(marks))
                            UNION ALL SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(marks))
                            """,
                        arguments: StatementArguments(texts + texts)))
                return texts.filter { !claimed.contains($0) }
            }
            guard !unclaimed.isEmpty else { continue }
            try await runner.write { db in
                for id in unclaimed {
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO lfs_tombstone (fileID, key)
                            SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM lfs_file WHERE id = ?)
                            """,
                        arguments: [id, "\(namespace)/\(id)", id])
                }
            }
        }
    }
}

extension Date {
    var nanosecondsSince1970: Int64 { Int64(timeIntervalSince1970 * 1_000_000) * 1_000 }
}

extension Duration {
    /// Whole nanoseconds; what is longer than a hundred years counts as that, so that times can be added.
    var nanoseconds: Int64 {
        let longest: Int64 = 100 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
