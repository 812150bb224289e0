import GRDB
import LFSDatabase
import LFSWire

/// A writer that applies a batch of lines and stores the new checkpoints in the same transaction. If the process dies
/// before the commit, the server sends the lines again. After the commit, it sends none of them again.
struct BatchApply: Sendable {
    /// The synced tables, parents first.
    let tables: [SyncedTable]
    let byType: [SyncType: SyncedTable]

    init(_ tables: [SyncedTable]) {
        self.tables = tables
        byType = Dictionary(
            tables.flatMap { table in table.types.map { ($0, table) } }, uniquingKeysWith: { first, _ in first })
    }

    /// The result of a batch.
    struct Outcome: Sendable, Equatable {
        /// The number of rows that changed something on this device.
        var changed = 0
        var isComplete = false
        /// True if the device starts over with a full resync.
        var hasReset = false

        mutating func add(_ next: Outcome) {
            changed += next.changed
            isComplete = isComplete || next.isComplete
            hasReset = hasReset || next.hasReset
        }
    }

    /// A strategy for applying the lines of a batch. Each attempt is one transaction, which is rolled back completely
    /// if it throws.
    enum Strategy {
        /// All rows together, each reference checked with its row. Parents usually arrive first.
        case inOrder
        /// All rows together, references checked at the end. SQLite then recompiles each statement, which costs as much
        /// as writing the rows.
        case together
        /// Each row separately. A row that cannot be applied is parked, and the others are applied.
        case oneByOne

        /// Returns the strategy to try after an error about a row, or nil after the last one.
        func next(after error: any Error) -> Strategy? {
            switch self {
            case .inOrder: (error as? DatabaseError)?.isOfReference == true ? .together : .oneByOne
            case .together: .oneByOne
            case .oneByOne: nil
            }
        }
    }

    /// Applies the lines with one strategy.
    ///
    /// - Throws: `DatabaseError` about one of the rows. ``Strategy/next(after:)`` returns the strategy to try then.
    func run(_ lines: [SyncLine], way: Strategy, _ db: Database) throws -> Outcome {
        if way == .together { try db.execute(sql: "PRAGMA defer_foreign_keys = ON") }
        return try run(lines, db, mayPark: way == .oneByOne)
    }

    private func run(_ lines: [SyncLine], _ db: Database, mayPark: Bool) throws -> Outcome {
        var outcome = Outcome()
        try StateTable.applying(db, isWhole: true) {
            var work = try Context(tables, db, mayPark: mayPark)
            for line in lines { try apply(line, work: &work, outcome: &outcome, db) }
            try work.flush(&outcome, db)
            try work.progress.write(db)
            // A child may have arrived before its parent. Parked rows are retried only at the end of a stream, since
            // each batch would retry all of them.
            if work.hasParked, outcome.isComplete { outcome.changed += try tryParked(db) }
        }
        return outcome
    }

    /// The state that the lines of a batch share.
    struct Context {
        let own: SyncScope?
        /// True if each row is applied separately and may be parked.
        let mayPark: Bool
        var hasParked: Bool
        var progress = Progress()
        /// The row writers by table name.
        let rows: [String: RowApply]
        /// True if scopes of other accounts may supply rows to this device.
        var hasMembers: Bool
        private var last: Target?
        /// The writer with rows that are queued and not written yet.
        private var queue: RowApply?

        init(_ tables: [SyncedTable], _ db: Database, mayPark: Bool) throws {
            own = try SyncCheckpoints.ownScope(db)
            self.mayPark = mayPark
            hasMembers = try !MemberTable.isEmpty(db)
            // No other connection can write during this transaction, so the outbox stays empty.
            let isQuiet = try Outbox.isEmpty(db)
            rows = Dictionary(
                tables.map { ($0.name, RowApply(table: $0, isQuiet: isQuiet)) }, uniquingKeysWith: { first, _ in first }
            )
            hasParked = try mayPark || !ParkedTable.isEmpty(db)
        }

        /// Queues a row to be written together with others, if that is safe.
        ///
        /// - Returns: false for a row that must be written separately.
        mutating func queue(_ row: SyncRow, at spot: Target, outcome: inout Outcome, _ db: Database) throws -> Bool {
            guard !mayPark, spot.isOwn, !hasMembers else { return false }
            if queue?.table.name != spot.rows.table.name { try flush(&outcome, db) }
            guard try spot.rows.queue(row, changed: &outcome.changed, db) else { return false }
            queue = spot.rows
            return true
        }

        /// Writes the queued rows. Must run before any operation that may depend on them.
        mutating func flush(_ outcome: inout Outcome, _ db: Database) throws {
            guard let rows = queue else { return }
            queue = nil
            try rows.flush(&outcome.changed, db)
        }

        /// Returns the writer and scope for the lines of a place.
        ///
        /// - Throws: ``SyncError`` for a type that this device has not requested.
        mutating func spot(_ place: SyncToken.Place, byType: [SyncType: SyncedTable]) throws -> Target {
            if let last, last.place == place { return last }
            guard let table = byType[place.type], let rows = rows[table.name] else {
                throw SyncError(
                    .unexpectedReply, message: "The server sent '\(place.type)', which was not requested.")
            }
            let spot = Target(place, rows: rows, isOwn: place.scope == own)
            last = spot
            return spot
        }
    }

    /// The row writer and scope of a line. Consecutive lines usually share them.
    final class Target {
        let place: SyncToken.Place
        let rows: RowApply
        /// The scope as text.
        let scope: String
        let isOwn: Bool

        init(_ place: SyncToken.Place, rows: RowApply, isOwn: Bool) {
            self.place = place
            self.rows = rows
            self.isOwn = isOwn
            scope = place.scope.description
        }
    }

    private func apply(_ line: SyncLine, work: inout Context, outcome: inout Outcome, _ db: Database) throws {
        if case .row = line {} else { try work.flush(&outcome, db) }
        switch line {
        case .row(let values, let token):
            if try queued(values, token: token, work: &work, outcome: &outcome, db) { return }
            try apply(
                values.text(SyncedTable.keyColumn) ?? "", values: values, token: token, work: &work, outcome: &outcome,
                db)
        case .deletion(let key, let token):
            try apply(key, values: nil, token: token, work: &work, outcome: &outcome, db)
        case .reached(let token, _):
            guard let table = byType[token.place.type] else { return }
            _ = try work.progress.isMarking(token.place, table: table, db)
            work.progress.note(token)
            try FullResyncTable.end(token.place, db)
        case .scopeDeleted(let token): try leave(token, work: &work, outcome: &outcome, db)
        case .complete(_, let history):
            try beginMissing(work: &work, db)
            try FullResyncTable.endAll(db)
            try SyncCheckpoints.endKeeping(db)
            try SyncCheckpoints.note(history: history, db)
            outcome.isComplete = true
        case .reset(let reset, let token):
            if reset.types == nil, reset.scopes == nil {
                work.progress = Progress()
                try SyncCheckpoints.restart(token, keepsAll: reset.reason == .history, db)
                outcome.hasReset = true
            } else {
                try work.progress.write(db)
                work.progress = Progress()
                try SyncCheckpoints.forget(reset.types, scopes: reset.scopes, db)
            }
        case .failure, .heartbeat, .unknown: break
        }
    }

    /// Begins the full resyncs of the account's own rows for which the stream had no line, because the server has an
    /// older state than this device and nothing to send. The device then sends the rows that the server lacks.
    private func beginMissing(work: inout Context, _ db: Database) throws {
        guard let own = work.own, try SyncCheckpoints.keepsAll(db) else { return }
        try work.progress.write(db)
        work.progress = Progress()
        for table in tables {
            let places = table.types.map { SyncToken.Place($0, scope: own) }
            guard let place = places.first, try !places.contains(where: { try SyncCheckpoints.contains($0, db) }) else {
                continue
            }
            try FullResyncTable.begin(place, table: table, db)
        }
    }

    /// Queues a row that needs no further checks. Nearly all rows are of this kind: they belong to the account itself.
    ///
    /// - Returns: false for a row that needs further checks.
    private func queued(
        _ values: SyncRow, token: SyncToken, work: inout Context, outcome: inout Outcome, _ db: Database
    ) throws -> Bool {
        guard !work.hasParked else { return false }
        let spot = try work.spot(token.place, byType: byType)
        guard try !work.progress.isMarking(token.place, table: spot.rows.table, db),
            try work.queue(values, at: spot, outcome: &outcome, db)
        else { return false }
        work.progress.note(token)
        return true
    }

    private func apply(
        _ key: String, values: SyncRow?, token: SyncToken, work: inout Context, outcome: inout Outcome,
        _ db: Database
    ) throws {
        let spot = try work.spot(token.place, byType: byType)
        let table = spot.rows.table
        let isMarking = try work.progress.isMarking(token.place, table: table, db)
        let entry = ParkedTable.Entry(
            table: table.name, scope: spot.scope, key: key, row: values, position: token.position)
        if work.hasParked { try ParkedTable.remove(table.name, scope: spot.scope, key: key, db) }
        if let values, try work.queue(values, at: spot, outcome: &outcome, db) {
            // Queued, and written with the next rows.
        } else if work.mayPark {
            var changed = false
            let isDone = try ParkedTable.orPark(entry, db) {
                changed = try writeAlone(entry, spot: spot, work: &work, db)
            }
            if isDone, changed { outcome.changed += 1 }
        } else {
            try work.flush(&outcome, db)
            if try write(entry, spot: spot, work: &work, db) { outcome.changed += 1 }
        }
        if isMarking, values != nil { try FullResyncTable.mark(table.name, key: key, in: token.place.scope, db) }
        work.progress.note(token)
    }

    /// Writes or removes a row as `write` does, but requires that the row's parents exist on this device.
    func writeAlone(
        _ entry: ParkedTable.Entry, spot: Target, work: inout Context, _ db: Database
    ) throws -> Bool {
        if let row = entry.row, let missing = try spot.rows.missingParents(of: row, db).first {
            throw RowProblem.missingParent(missing.column)
        }
        return try write(entry, spot: spot, work: &work, db)
    }

    /// Writes or removes a row, if its scope has the right to do so.
    func write(
        _ entry: ParkedTable.Entry, spot: Target, work: inout Context, _ db: Database
    ) throws -> Bool {
        let (rows, table, scope, position) = (spot.rows, spot.rows.table, spot.place.scope, entry.position)
        if spot.isOwn {
            guard let row = entry.row else {
                // The row may have moved to another account whose scope also supplies it to this device.
                if try work.hasMembers && MemberTable.contains(table.name, key: entry.key, db) { return false }
                return try rows.delete(entry.key, at: position, db)
            }
            if work.hasMembers { try MemberTable.own(table.name, key: entry.key, db) }
            return try rows.put(row, at: position, db)
        }
        guard let row = entry.row else {
            guard try MemberTable.remove(table.name, key: entry.key, from: scope, db) else { return false }
            return try rows.delete(entry.key, at: position, db)
        }
        if try !MemberTable.contains(table.name, key: entry.key, db), try rows.isThere(entry.key, db) {
            // A row that this device has put into another account's container belongs to that account on the server.
            guard try Outbox.forgetApplied(table.name, key: entry.key, db) else { throw RowProblem.ownRow }
        }
        work.hasMembers = true
        try MemberTable.add(table.name, key: entry.key, to: scope, db)
        return try rows.put(row, at: position, db)
    }

    /// Removes the rows of a scope that the device may no longer read, child tables first. Rows that another scope
    /// supplies stay.
    private func leave(_ token: SyncToken, work: inout Context, outcome: inout Outcome, _ db: Database) throws {
        let scope = token.place.scope
        guard scope != work.own else { return }
        try work.progress.write(db)
        work.progress = Progress()
        try ParkedTable.removeAll(of: scope, db)
        for table in tables.reversed() {
            guard let rows = work.rows[table.name] else { continue }
            var last = ""
            while true {
                let keys = try MemberTable.keys(of: table.name, in: scope, after: last, limit: 500, db)
                for key in keys {
                    let entry = ParkedTable.Entry(table: table.name, scope: scope.description, key: key, row: nil)
                    let isDone = try ParkedTable.orPark(entry, db) {
                        guard try MemberTable.remove(table.name, key: key, from: scope, db) else { return }
                        _ = try rows.delete(key, at: .start, db)
                    }
                    if isDone { outcome.changed += 1 }
                }
                guard let end = keys.last else { break }
                last = end
            }
        }
        try FullResyncTable.removeAll(of: scope, db)
        try SyncCheckpoints.leave(token, db)
    }
}
