import GRDB

/// Positions in a list that several devices change.
///
/// A correct position is kept, so that the changes of two devices to one list can be merged: a device that adds a row
/// at the end writes only this row. Two rows may have the same position, assigned by two devices. Then the row with the
/// lower id is first.
enum Positions {
    /// The largest position that counts. Positions are untrusted input, since other accounts write them: a larger one
    /// counts as this one, so that there is always a next one.
    private static let largest = 1 << 53

    /// Returns the position of a row, or nil if the value is not a number.
    static func place(_ stored: DatabaseValue) -> Int? {
        Int.fromDatabaseValue(stored).map { min(max($0, 0), largest) }
    }

    /// Returns the positions of rows by their keys.
    ///
    /// - Parameter sql: A query that returns a text and a position.
    static func all(_ sql: String, arguments: StatementArguments = [], _ db: Database) throws -> [String: Int] {
        try Row.fetchAll(db, sql: sql, arguments: arguments).reduce(into: [:]) { places, row in
            places[String.fromDatabaseValue(row[0]) ?? ""] = place(row[1])
        }
    }

    /// Returns the position at the end of a list.
    ///
    /// - Parameter current: The positions of the list's rows, as ``place(_:)`` returns them.
    static func next(after current: some Collection<Int>) -> Int { (current.max() ?? -1) + 1 }

    /// Returns new positions in ascending order.
    ///
    /// - Parameter current: The positions of the list's rows in their new order. Nil for new rows.
    static func arranged(_ current: [Int?]) -> [Int] {
        var last = -1
        return current.map { place in
            last = place.map { max($0, last + 1) } ?? last + 1
            return last
        }
    }
}
