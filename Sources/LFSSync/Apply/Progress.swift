import GRDB
import LFSWire

/// How far a batch has come, and which of its types come whole.
struct Progress {
    private var reached: [SyncToken.Place: SyncToken] = [:]
    private var marking: [SyncToken.Place: Bool] = [:]

    mutating func note(_ token: SyncToken) { reached[token.place] = token }

    /// Whether what comes is marked, since it comes from the first row on and the table has rows. A pass begins with
    /// the first line of a type and scope that has no checkpoint.
    mutating func isMarking(_ place: SyncToken.Place, _ table: SyncedTable, _ db: Database) throws -> Bool {
        if let known = marking[place] { return known }
        if try !SyncCheckpoints.contains(place, db) { try PassTable.begin(place, table, db) }
        let isMarking = try PassTable.isUnderWay(place, db)
        marking[place] = isMarking
        return isMarking
    }

    func write(_ db: Database) throws {
        for token in reached.values { try SyncCheckpoints.note(token, db) }
    }
}
