/// Places in a list that several devices change.
///
/// A place that is right stays, so that what two devices do to one list comes together: who adds at the end writes
/// nothing else. Two rows may have one place, given by two devices; then the lower id is first.
enum Positions {
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
