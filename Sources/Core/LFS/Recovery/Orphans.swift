import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// The definition of an orphan, for sweeps and for verification, on this device and on the storage.
///
/// An orphan has no row in any state and no tombstone. It may be removed only after its grace period, and only when
/// this database can know of it. See ``Age``.
struct Orphans: Sendable {
    let runner: BackgroundRunner

    /// The age that an orphan must reach before it may be removed.
    struct Age: Sendable {
        /// Nanoseconds since 1970. A file that changed later is kept.
        let limit: Nanoseconds
        /// Milliseconds since 1970. A file that was made earlier is kept, because a restored backup of the database
        /// does not know it.
        let from: Int64

        /// Returns whether a file may be removed without further confirmation.
        func isOver(_ file: FileCursor.Entry) -> Bool { isPast(file) && isKnowable(file.id) }

        /// Returns whether the grace period of a file is over.
        func isPast(_ file: FileCursor.Entry) -> Bool { file.changed <= limit }

        /// Returns whether the grace period is over by the time in the id, for files without a trustworthy time of
        /// their own.
        func isPast(_ id: FileID) -> Bool { id.tellsTime && id.milliseconds <= limit.value / 1_000_000 }

        /// Returns whether this database would know the file if any copy of the database did.
        func isKnowable(_ id: FileID) -> Bool { id.milliseconds >= from }
    }

    func age(_ gracePeriod: Duration, now: Date) async throws -> Age {
        let from = try await runner.read(StateTable.knowsFrom)
        return Age(limit: now.nanosecondsSince1970 - gracePeriod.nanoseconds, from: from)
    }

    /// Makes this database keep every orphan that was made up to now, as a file that it cannot know.
    func doubtAllUntilNow(_ now: Date) async throws {
        let now = now.millisecondsSince1970
        try await runner.writeDurably { db in try StateTable.doubtAll(until: now, db) }
    }

    /// Returns the ids that are orphans now.
    func among(_ ids: [FileID]) async throws -> [FileID] {
        if ids.isEmpty { return [] }
        return try await runner.read { db in
            let known = try FileTable.existing(ids, db).union(TombstoneTable.existing(ids, db))
            return ids.filter { !known.contains($0) }
        }
    }

    /// Returns the keys that any row uses. Only another program can have written a row whose key does not end with its
    /// id. Its object is not an orphan either.
    func used(_ keys: [ObjectKey]) async throws -> Set<String> {
        if keys.isEmpty { return [] }
        return try await runner.read { db in try FileTable.used(keys.map(\.rawValue), db) }
    }

    /// Adds a tombstone for an orphan, so that its local bytes and its object are deleted. Does nothing if it is not an
    /// orphan any more.
    ///
    /// - Parameter age: the age rule by which it was found old enough.
    /// - Returns: whether a tombstone was added. Nil, with nothing changed, when the database has lost rows since then,
    ///   for example by a reset. A missing row is then no evidence of an orphan.
    func remove(_ id: FileID, age: Age, namespace: Namespace) async throws -> Bool? {
        try await runner.write { db in
            guard try StateTable.knowsFrom(db) == age.from, try !StateTable.isResetting(db) else { return nil }
            return try TombstoneTable.add(id, key: namespace.key(of: id), db)
        }
    }
}
