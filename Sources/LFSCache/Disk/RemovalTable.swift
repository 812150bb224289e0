import GRDB
import LFSSystem

/// All SQL of `removal`: how often entries were taken out, by each of those that have the cache open.
///
/// Who loads compares what others have counted before it loaded and when it stores: what it has loaded may be made from
/// something that has changed meanwhile. Its own removals it knows more exactly; see ``Flights``.
enum RemovalTable {
    static func count(except opening: FileID, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT total(count) FROM removal WHERE opening <> ?")
        // As a number with a point, which no sum overflows.
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
