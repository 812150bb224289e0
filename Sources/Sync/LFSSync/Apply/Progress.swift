import GRDB
import LFSWire

/// The progress of a batch: the tokens that it has reached, and which types are in a full resync.
struct Progress {
    private var reached: [SyncToken.Place: SyncToken] = [:]
    private var marking: [SyncToken.Place: Bool] = [:]
    /// The token of the last line. The next line usually has the same place.
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

    /// Returns true if incoming rows of a place are marked for a full resync. A full resync begins with the first line
    /// of a type and scope without a checkpoint. It marks rows only if the table has rows at that time.
    mutating func isMarking(_ place: SyncToken.Place, table: SyncedTable, _ db: Database) throws -> Bool {
        if let last, last.token.place == place { return last.isMarking }
        if let known = marking[place] { return known }
        if try !SyncCheckpoints.contains(place, db) { try FullResyncTable.begin(place, table: table, db) }
        let isMarking = try FullResyncTable.isUnderWay(place, db)
        marking[place] = isMarking
        return isMarking
    }

    func write(_ db: Database) throws {
        for (place, token) in reached where place != last?.token.place { try SyncCheckpoints.note(token, db) }
        if let last { try SyncCheckpoints.note(last.token, db) }
    }
}
