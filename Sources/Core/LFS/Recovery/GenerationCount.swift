import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// A counter of the openings of a database, stored in `lfs_state` and in the marker of the local store. It is used only
/// under the open lock, so every earlier exclusive holder has counted as well.
///
/// The folder is created with the number of the opening that creates it. The marker announces each number, then the
/// database counts durably, and then the marker gets the new count. So an opening that was interrupted between these
/// steps differs from a copy: the marker says that the folder was made for the first opening, and the database has
/// never had a file. It also differs from the use of another folder, whose openings this marker does not announce. If
/// the count of an announced opening fails, another folder may use its number, but not the random number of the
/// announcement.
struct GenerationCount: Sendable {
    let runner: BackgroundRunner
    let store: LocalStore
    let wallClock: @Sendable () -> Date

    /// Counts this opening in the database and in the marker.
    ///
    /// - Parameter isAlone: true if no other process counts at the same time. A folder with a lower count than the
    ///   database was then not the one in use, unless its marker has announced that count.
    func advance(isAlone: Bool = false) async throws {
        let generation = try await count(isAlone: isAlone)
        let store = store
        // The database's write lock serializes the changes of the marker by several processes.
        try await runner.writeAlone { _ in try store.mark(generation: generation) }
    }

    /// Counts this opening in the database. Detects a database that is older than its folder, such as a restored
    /// backup, and a database that is used with another folder than before, such as a copy on another machine.
    ///
    /// Such a database does not know the files that were made elsewhere since. They may be the only copies, so they are
    /// never swept.
    ///
    /// A backup from the same opening cannot be detected by the count. ``Recovery/repair(sweeps:)`` detects it.
    ///
    /// - Parameter isAlone: see ``advance(isAlone:)``.
    /// - Returns: the number of this opening.
    func count(isAlone: Bool = false) async throws -> Int64 {
        let store = store
        let now = wallClock().millisecondsSince1970
        return try await runner.writeDurably { db in
            let marker = try store.currentMarker()
            let barrier = StoreMarker.makeBarrier()
            let (before, generation) = try StateTable.countOpening(
                marker: marker.generation, isNew: marker.madeFor == 1, barrier: barrier, now: now, db)
            let lags = marker.lagsBehind(before.count, barrier: before.barrier)
            // Before the commit, so that a full disk of the store leaves the count of the database unchanged.
            try store.announce(generation: generation, barrier: barrier, followsAnother: isAlone && lags)
            return generation
        }
    }
}
