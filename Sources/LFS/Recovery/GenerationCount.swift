import Foundation
import GRDB
import LFSFiles
import LFSSystem

/// Counts the openings of a database, in `lfs_state` and in the marker of its folder.
struct GenerationCount: Sendable {
    let runner: BackgroundRunner
    let store: LocalStore
    let wallClock: @Sendable () -> Date

    /// Notices a database that is older than its folder, as a backup that was put back, and one that comes to another
    /// folder than before, as a copy on another machine. Neither knows what was made since elsewhere, and it may be all
    /// that is left, so that is never swept.
    ///
    /// What this cannot see, a backup from the same opening, is noticed by ``Recovery/repair(sweeps:)``.
    func advance() async throws {
        let seen = store.marker.generation
        let now = wallClock().millisecondsSince1970
        let generation = try await runner.writeDurably { db in
            try db.execute(
                sql: """
                    UPDATE lfs_state SET generation = max(generation, ?1) + 1,
                        sweepsFrom = CASE WHEN generation < ?1 OR (?1 = 0 AND generation > 0)
                            THEN max(sweepsFrom, ?2) ELSE sweepsFrom END
                    """,
                arguments: [seen, now])
            return try Int64.fetchOne(db, sql: "SELECT generation FROM lfs_state") ?? 0
        }
        let store = store
        try await BlockingPool.shared.run { _ in try store.mark(generation: generation) }
    }
}
