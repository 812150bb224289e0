import LFSWire

/// The removal of tombstones that every device should have received.
///
/// A run reads the index of each of the two tables once, in the order of the scopes, tables and positions. Each step is
/// a transaction with about a thousand tombstones, so that other writers get their turn in between.
enum Pruning {
    /// A table with tombstones.
    private struct Tombstones: Sendable {
        let table: String
        /// An SQL condition for the rows that are deletions. It ends with AND, unless it is empty.
        let condition: String
    }

    /// A tombstone by its place in the index of positions.
    fileprivate struct Entry: Sendable {
        var scope = ""
        var tableName = ""
        var position = ""

        /// The columns of the index.
        static let columns = "scopeID, tableName, updateID"

        var arguments: [SQLValue] { [.text(scope), .text(tableName), .text(position)] }
    }

    /// The place that a run has reached.
    struct Place: Sendable {
        fileprivate var table = 0
        /// The last tombstone that was pruned in the table.
        fileprivate var last = Entry()

        /// The place before the first tombstone.
        static let start = Place()
    }

    private static let tables = [
        Tombstones(table: "sync_tombstone", condition: ""),
        Tombstones(table: "sync_member", condition: "isDeleted = 1 AND "),
    ]

    /// The number of tombstones in a step.
    private static let stepLimit = 1_000

    /// Removes the next old tombstones.
    ///
    /// - Parameters:
    ///   - place: the place to start from.
    ///   - bound: the position below which tombstones are removed. Each scope records how far it was pruned. A device
    ///     that had not reached that position starts the scope over.
    /// - Returns: the number of removed tombstones, and the next place. Nil after the last one.
    static func prune(
        from place: Place, below bound: String, _ db: any SQLConnection
    ) throws -> (count: Int, next: Place?) {
        try PostgresOrder.preferIndexes(db)
        let (tombstones, table) = (tables[place.table], tables[place.table].table)
        let range = "(\(Entry.columns)) > (?1, ?2, ?3) AND \(tombstones.condition)updateID < ?4"
        let arguments = place.last.arguments + [.text(bound)]
        let found = try entries(in: table, range: range, arguments: arguments, db)
        let isLast = found.count < stepLimit
        var next = place
        next.table += isLast ? 1 : 0
        next.last = isLast ? Entry() : found.last ?? Entry()
        guard let last = found.last else { return (0, next.table < tables.count ? next : nil) }
        try note(found, db)
        let removed = try db.execute(
            "DELETE FROM \(table) WHERE \(range) AND (\(Entry.columns)) <= (?5, ?6, ?7)",
            arguments: arguments + last.arguments)
        return (removed, next.table < tables.count ? next : nil)
    }

    /// Returns the tombstones of the next step.
    private static func entries(
        in table: String, range: String, arguments: [SQLValue], _ db: any SQLConnection
    ) throws -> [Entry] {
        var found: [Entry] = []
        let sql = """
            SELECT \(Entry.columns) FROM \(table) WHERE \(range) ORDER BY \(Entry.columns) LIMIT \(stepLimit)
            """
        try db.query(sql, arguments: arguments) { row in
            guard let scope = try row.text(0), let name = try row.text(1), let position = try row.text(2) else {
                throw SQLFailure(.unusable, message: "A row of \(table) lacks a value.")
            }
            found.append(Entry(scope: scope, tableName: name, position: position))
            return true
        }
        return found
    }

    /// Records how far the scopes are pruned.
    private static func note(_ entries: [Entry], _ db: any SQLConnection) throws {
        // Positions are ASCII, so their order in Swift is that of the databases.
        let reached = Dictionary(entries.map { ($0.scope, $0.position) }) { max($0, $1) }
        let sorted = reached.sorted { $0.key < $1.key }
        let scopes = SQLColumn(.text, values: sorted.map { .text($0.key) })
        let positions = SQLColumn(.text, values: sorted.map { .text($0.value) })
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
