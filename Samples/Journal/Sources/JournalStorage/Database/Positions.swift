import GRDB

/// Places in a list that several devices change.
///
/// A place that is right stays, so that what two devices do to one list comes together: who adds at the end writes
/// nothing else. Two rows may have one place, given by two devices; then the lower id is first.
enum Positions {
    /// The largest place that counts. Places are input, since other accounts write them: a larger one counts as this
    /// one, so that there is always a next one.
    private static let largest = 1 << 53

    /// Returns the place that a row has; nil for a value that is not a number.
    static func place(_ stored: DatabaseValue) -> Int? {
        Int.fromDatabaseValue(stored).map { min(max($0, 0), largest) }
    }

    /// Returns the place at the end of a list.
    ///
    /// - Parameter current: the places of the list's rows, as ``place(_:)`` gives them.
    static func next(after current: some Collection<Int>) -> Int { (current.max() ?? -1) + 1 }

    /// New places, ascending.
    ///
    /// - Parameter current: the places of the list's rows in the order that they are to have; nil for new rows.
    static func arranged(_ current: [Int?]) -> [Int] {
        var last = -1
        return current.map { place in
            last = place.map { max($0, last + 1) } ?? last + 1
            return last
        }
    }
}
