import Foundation
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem

/// Which files are orphans: the one definition, for sweeps and for verification, here and on the remote storage.
///
/// An orphan has no row in any state and no tombstone. It may go only when its grace period is over and when this
/// database can know of it: see ``Age``.
struct Orphans: Sendable {
    let runner: BackgroundRunner

    /// How old an orphan has to be before it goes.
    struct Age: Sendable {
        /// Nanoseconds since 1970: what changed later stays.
        let limit: Nanoseconds
        /// Milliseconds since 1970: what was made earlier stays, because an older copy of the database, put back from a
        /// backup, does not know it.
        let from: Int64

        /// Whether it may go without a question.
        func isOver(_ file: FileCursor.Entry) -> Bool { isPast(file) && isKnowable(file.id) }

        /// Whether its grace period is over.
        func isPast(_ file: FileCursor.Entry) -> Bool { file.changed <= limit }

        /// For what has no time of its own that could be trusted: its id tells when it was made.
        func isPast(_ id: FileID) -> Bool { id.tellsTime && id.milliseconds <= limit.value / 1_000_000 }

        /// Whether this database would know it if anybody did.
        func isKnowable(_ id: FileID) -> Bool { id.milliseconds >= from }
    }

    func age(_ gracePeriod: Duration, now: Date) async throws -> Age {
        let from = try await runner.read(StateTable.knowsFrom)
        return Age(limit: now.nanosecondsSince1970 - gracePeriod.nanoseconds, from: from)
    }

    /// From now on this database takes for unknown, and keeps, every orphan that was made up to this moment.
    func doubtAllUntilNow(_ now: Date) async throws {
        let now = now.millisecondsSince1970
        try await runner.writeDurably { db in try StateTable.doubtAll(until: now, db) }
    }

    /// Those of the ids that are orphans now.
    func among(_ ids: [FileID]) async throws -> [FileID] {
        if ids.isEmpty { return [] }
        return try await runner.read { db in
            let known = try FileTable.existing(ids, db).union(TombstoneTable.existing(ids, db))
            return ids.filter { !known.contains($0) }
        }
    }

    /// Those of the keys that a row of any id has. Only another program can have written a row whose key does not end
    /// with its id, but its object is not an orphan for that.
    func used(_ keys: [ObjectKey]) async throws -> Set<String> {
        if keys.isEmpty { return [] }
        return try await runner.read { db in try FileTable.used(keys.map(\.rawValue), db) }
    }

    /// Gives an orphan a tombstone, so that its bytes go here and on the remote storage, unless it is none by now.
    ///
    /// - Parameter age: by which it was found old enough.
    /// - Returns: whether it was given one; nil, with nothing changed, when the database has lost rows since then, as
    ///   by a reset: that it is an orphan means nothing any more.
    func remove(_ id: FileID, _ age: Age, namespace: Namespace) async throws -> Bool? {
        try await runner.write { db in
            guard try StateTable.knowsFrom(db) == age.from, try !StateTable.isResetting(db) else { return nil }
            return try TombstoneTable.add(id, key: namespace.key(of: id), db)
        }
    }
}
