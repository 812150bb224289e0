import GRDB
import LFSWire

/// How far a batch has come, and which of its types come whole.
struct Progress {
    private var reached: [SyncToken.Place: SyncToken] = [:]
    private var marking: [SyncToken.Place: Bool] = [:]
    /// Where the last line belongs, which is where the next one does mostly.
    private var last: (token: SyncToken, isMarking: Bool)?

    mutating func note(_ token: SyncToken) {
        if let last, last.token.place == token.place {
            self.last = (token, last.isMarking)
            return
        }
        if let last { reached[last.token.place] = last.token }
        last = marking[token.place].map { (token, $0) }
        if last == nil { reached[token.place] = token }
    }

    /// Whether what comes is marked, since it comes from the first row on and the table has rows. A pass begins with
    /// the first line of a type and scope that has no checkpoint.
    mutating func isMarking(_ place: SyncToken.Place, _ table: SyncedTable, _ db: Database) throws -> Bool {
        if let last, last.token.place == place { return last.isMarking }
        if let known = marking[place] { return known }
        if try !SyncCheckpoints.contains(place, db) { try PassTable.begin(place, table, db) }
        let isMarking = try PassTable.isUnderWay(place, db)
        marking[place] = isMarking
        return isMarking
    }

    func write(_ db: Database) throws {
        for (place, token) in reached where place != last?.token.place { try SyncCheckpoints.note(token, db) }
        if let last { try SyncCheckpoints.note(last.token, db) }
    }
}
