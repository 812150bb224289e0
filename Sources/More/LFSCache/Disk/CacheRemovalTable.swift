import GRDB
import LFSSystem

/// All SQL of the table `removal`, in which each opening of the cache counts its removals.
///
/// A load compares the counts of the other openings before it loads and when it stores. If they differ, the loaded
/// content may be derived from data that has changed. ``InFlightLoads`` tracks the process's own removals more
/// precisely.
enum CacheRemovalTable {
    static func count(except opening: FileID, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT total(count) FROM removal WHERE opening <> ?")
        // `total` returns a floating-point number, which no sum overflows.
        let count = try Double.fetchOne(statement, arguments: [opening.text]) ?? 0
        return Int64(exactly: count.rounded()) ?? -1
    }

    static func add(_ opening: FileID, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO removal (opening, count) VALUES (?, 1)
                ON CONFLICT (opening) DO UPDATE SET count = count + 1
                """)
        try statement.execute(arguments: [opening.text])
    }

    static func removeAll(_ db: Database) throws { try db.execute(sql: "DELETE FROM removal") }
}
