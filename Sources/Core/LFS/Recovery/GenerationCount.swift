import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// A counter of the openings of a database, stored in `lfs_state` and in the marker of the local store. It is used only
/// under the open lock, so every earlier exclusive holder has counted as well.
///
/// The folder is created with the number of the opening that creates it. Then the database counts durably, and then the
/// folder. So an opening that was interrupted between these steps differs from a copy: the marker says that the folder
/// was made for the first opening, and the database has never had a file.
struct GenerationCount: Sendable {
    let runner: BackgroundRunner
    let store: LocalStore
    let wallClock: @Sendable () -> Date

    /// Counts this opening. Detects a database that is older than its folder, such as a restored backup, and a database
    /// that is used with another folder than before, such as a copy on another machine.
    ///
    /// Such a database does not know the files that were made elsewhere since. They may be the only copies, so they are
    /// never swept.
    ///
    /// A backup from the same opening cannot be detected by the count. ``Recovery/repair(sweeps:)`` detects it.
    ///
    /// - Parameter isAlone: true if no other process counts at the same time. A folder with a lower count than the
    ///   database was then not the one in use.
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
