import Foundation
import GRDB
import LFSFiles
import LFSStorage

/// Which files nobody claims: the one definition, for sweeps and for verification, here and on the remote storage.
///
/// A file is claimed by a row in any state and by a tombstone. One that nobody claims may go only when its grace period
/// is over and when this database can know of it: see ``Age``.
struct Claims: Sendable {
    let runner: BackgroundRunner

    /// How old a file without a claim has to be.
    struct Age: Sendable {
        /// Nanoseconds since 1970: what changed later stays.
        let limit: Int64
        /// Milliseconds since 1970: what was made earlier stays, because an older copy of the database, put back from a
        /// backup, does not know it.
        let from: Int64

        /// Whether it may go without a question.
        func isOver(_ file: FileCursor.Entry) -> Bool { isPast(file) && isKnowable(file.id) }

        /// Whether its grace period is over.
        func isPast(_ file: FileCursor.Entry) -> Bool { file.changed <= limit }

        /// For what has no time of its own that could be trusted: its id tells when it was made.
        func isPast(_ id: FileID) -> Bool { id.tellsTime && id.milliseconds <= limit / 1_000_000 }

        /// Whether this database would know it if anybody did.
        func isKnowable(_ id: FileID) -> Bool { id.milliseconds >= from }
    }

    func age(_ gracePeriod: Duration, now: Date) async throws -> Age {
        let from = try await runner.read { db in try Self.from(db) }
        return Age(limit: now.nanosecondsSince1970 - gracePeriod.nanoseconds, from: from)
    }

    /// In a reset that has not ended nothing is known: the rows are gone, and what they claimed is not.
    private static func from(_ db: Database) throws -> Int64 {
        if try Reset.isUnderWay(db) { return .max }
        return try Int64.fetchOne(db, sql: "SELECT sweepsFrom FROM lfs_state") ?? 0
    }

    /// From now on this database takes for unknown, and keeps, whatever was made up to this moment and nobody claims.
    func doubtAllUntilNow(_ now: Date) async throws {
        let now = now.millisecondsSince1970
        try await runner.writeDurably { db in
            try db.execute(sql: "UPDATE lfs_state SET sweepsFrom = max(sweepsFrom, ?)", arguments: [now])
        }
    }

    /// Those of the ids that nobody claims now.
    func unclaimed(_ ids: [String]) async throws -> [String] {
        if ids.isEmpty { return [] }
        let marks = databaseQuestionMarks(count: ids.count)
        return try await runner.read { db in
            let claimed = try Set(
                String.fetchAll(
                    db,
                    sql: """
                        SELECT id FROM lfs_file WHERE id IN (\(marks))
                        UNION ALL SELECT fileID FROM lfs_tombstone WHERE fileID IN (\(marks))
                        """,
                    arguments: StatementArguments(ids + ids)))
            return ids.filter { !claimed.contains($0) }
        }
    }

    /// Those of the keys that a row of any id has. Only another program can have written a row whose key does not end
    /// with its id, but its object is not an orphan for that.
    func used(_ keys: [ObjectKey]) async throws -> Set<String> {
        if keys.isEmpty { return [] }
        let marks = databaseQuestionMarks(count: keys.count)
        return try await runner.read { db in
            try Set(
                String.fetchAll(
                    db, sql: "SELECT key FROM lfs_file WHERE key IN (\(marks))",
                    arguments: StatementArguments(keys.map(\.rawValue))))
        }
    }

    /// Gives files a tombstone, so that their bytes go here and on the remote storage, unless somebody claims them by now.
    ///
    /// - Parameter age: by which they were found old enough.
    /// - Returns: how many were given one; nil, with nothing changed, when the database has lost rows since then, as by
    ///   a reset: that nobody claims them means nothing any more.
    func bury(_ ids: [String], _ age: Age, namespace: String) async throws -> Int? {
        if ids.isEmpty { return 0 }
        return try await runner.write { db in
            guard try Self.from(db) == age.from, try !Reset.isUnderWay(db) else { return nil }
            let statement = try db.cachedStatement(
                sql: """
                    INSERT OR IGNORE INTO lfs_tombstone (fileID, key)
                    SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM lfs_file WHERE id = ?1)
                    """)
            return try ids.reduce(0) { count, id in
                try statement.execute(arguments: [id, "\(namespace)/\(id)"])
                return count + db.changesCount
            }
        }
    }
}

extension Date {
    var nanosecondsSince1970: Int64 {
        let microseconds = Int64(exactly: (timeIntervalSince1970 * 1_000_000).rounded(.towardZero))
        // Three centuries are about what fits.
        return min(max(microseconds ?? 0, -9_000_000_000_000_000), 9_000_000_000_000_000) * 1_000
    }
}

extension Duration {
    /// Whole nanoseconds; what is longer than a hundred years counts as that, so that times can be added.
    var nanoseconds: Int64 {
        let longest: Int64 = 100 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
