import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// Counts the openings of a database, in `lfs_state` and in the marker of its folder. Only under the open lock: whoever
/// held it alone before has counted as well.
///
/// The folder is made with the number of the opening that makes it, then the database counts durably, then the folder
/// does. So an opening that ended at any of these steps is told from a copy: the folder says that it was made for the
/// first opening, and the database has never had a file.
struct GenerationCount: Sendable {
    let runner: BackgroundRunner
    let store: LocalStore
    let wallClock: @Sendable () -> Date

    /// Notices a database that is older than its folder, as a backup that was put back, and one that comes to another
    /// folder than before, as a copy on another machine. Neither knows what was made since elsewhere, and it may be all
    /// that is left, so that is never swept.
    ///
    /// What this cannot see, a backup from the same opening, is noticed by ``Recovery/repair(sweeps:)``.
    ///
    /// - Parameter isAlone: whether nobody else counts now, so that a folder that lags behind was not the one in use.
    func advance(isAlone: Bool = false) async throws {
        let store = store
        let marker = try await BlockingPool.shared.run { _ in try store.currentMarker() }
        let now = wallClock().millisecondsSince1970
        let (before, generation) = try await runner.writeDurably { db in
            try StateTable.countOpening(marker: marker.generation, isNew: marker.madeFor == 1, now: now, db)
        }
        let lagsBehind = isAlone && marker.generation > 0 && marker.generation < before
        try await BlockingPool.shared.run { _ in
            try store.mark(generation: generation, followsAnother: lagsBehind)
        }
    }
}
