import LFSWire

/// The removal of tombstones that every device should have received.
///
/// A run reads the index of each of the two tables once, in the order of the scopes. Each step is a transaction with
/// the scopes of about a thousand tombstones, so that other writers get their turn in between.
enum Pruning {
    /// A table with tombstones.
    private struct Tombstones: Sendable {
        let table: String
        /// An SQL condition for the rows that are deletions. It ends with AND, unless it is empty.
        let condition: String
    }

    /// The place that a run has reached.
    struct Place: Sendable {
        fileprivate var table = 0
        /// The last scope that was pruned in the table.
        fileprivate var scope = ""

        /// The place before the first scope.
        static let start = Place()
    }

    private static let tables = [
        Tombstones(table: "sync_tombstone", condition: ""),
        Tombstones(table: "sync_member", condition: "isDeleted = 1 AND "),
    ]

    /// The number of tombstones after which a step ends with their last scope.
    private static let stepLimit = 1_000

    /// Removes old tombstones of the next scopes.
    ///
    /// - Parameters:
    ///   - place: the place to start from.
    ///   - bound: the position below which tombstones are removed. Each scope records how far it was pruned. A device
    ///     that had not reached that position starts the scope over.
    /// - Returns: the number of removed tombstones, and the next place. Nil after the last one.
    static func prune(
        from place: Place, below bound: String, _ db: any SQLConnection
    ) throws -> (count: Int, next: Place?) {
        let (tombstones, table) = (tables[place.table], tables[place.table].table)
        let isOld = "\(tombstones.condition)updateID < ?2"
        var (last, count) = ("", 0)
        try db.query(
            "SELECT scopeID FROM \(table) WHERE scopeID > ?1 AND \(isOld) ORDER BY scopeID LIMIT \(stepLimit)",
            arguments: [.text(place.scope), .text(bound)]
        ) { row in
            last = try row.text(0) ?? last
            count += 1
            return true
        }
        let isLast = count < stepLimit
        let next = Place(table: isLast ? place.table + 1 : place.table, scope: isLast ? "" : last)
        guard count > 0 else { return (0, next.table < tables.count ? next : nil) }
        let range = "scopeID > ?1 AND scopeID <= ?3 AND \(isOld)"
        let arguments: [SQLValue] = [.text(place.scope), .text(bound), .text(last)]
        try note(table, range: range, arguments: arguments, db)
        let removed = try db.execute("DELETE FROM \(table) WHERE \(range)", arguments: arguments)
        return (removed, next.table < tables.count ? next : nil)
    }

    /// Records how far the scopes are pruned.
    private static func note(
        _ table: String, range: String, arguments: [SQLValue], _ db: any SQLConnection
    ) throws {
        var scopes = SQLColumn(.text)
        var positions = SQLColumn(.text)
        try db.query(
            "SELECT scopeID, max(updateID) FROM \(table) WHERE \(range) GROUP BY scopeID ORDER BY scopeID",
            arguments: arguments
        ) { row in
            guard let scope = try row.text(0), let position = try row.text(1) else { return true }
            scopes.values.append(.text(scope))
            positions.values.append(.text(position))
            return true
        }
        let change = "UPDATE sync_scope SET prunedThrough ="
        let statement =
            db.dialect == .sqlite
            ? "\(change) ?2 WHERE id = ?1 AND prunedThrough < ?2"
            : """
            \(change) n.p FROM unnest(?1::text[], ?2::text[]) AS n(s, p)
            WHERE sync_scope.id = n.s AND sync_scope.prunedThrough < n.p COLLATE "C"
            """
        try db.query(statement, arguments: [], columns: [scopes, positions]) { _ in }
    }

    /// Returns the first position of a millisecond.
    static func position(at milliseconds: Int64) -> String {
        let digits = String(max(0, milliseconds), radix: 16)
        let time = String(repeating: "0", count: max(0, 12 - digits.count)) + digits
        return "\(time.prefix(8))-\(time.suffix(4))-7000-8000-000000000000"
    }
}
