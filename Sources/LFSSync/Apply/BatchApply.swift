import GRDB
import LFSDatabase
import LFSWire

/// Applies a batch of lines in one transaction, and writes down in it how far that is. Killed before the commit, the
/// lines come again; after it, none does.
struct BatchApply: Sendable {
    /// Parents first.
    let tables: [SyncedTable]
    let byType: [SyncType: SyncedTable]

    init(_ tables: [SyncedTable]) {
        self.tables = tables
        byType = Dictionary(tables.map { ($0.type, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What a batch has come to.
    struct Outcome: Sendable, Equatable {
        /// Rows that have changed something here.
        var changed = 0
        var isComplete = false
        /// Whether the device begins anew.
        var hasReset = false

        mutating func add(_ next: Outcome) {
            changed += next.changed
            isComplete = isComplete || next.isComplete
            hasReset = hasReset || next.hasReset
        }
    }

    /// How the lines of a batch are applied. Each is a whole transaction, of which nothing stays when it throws.
    enum Way {
        /// All together, each reference looked at with its row: parents mostly come first.
        case inOrder
        /// All together, with references looked at when all of them are there. SQLite compiles each statement anew
        /// after that was asked for, which costs as much as writing the rows.
        case together
        /// Each row by itself: what cannot be applied is parked, and the others go on.
        case oneByOne

        /// What to try after an error about a row; nil after the last.
        func next(after error: any Error) -> Way? {
            switch self {
            case .inOrder: (error as? DatabaseError)?.isOfReference == true ? .together : .oneByOne
            case .together: .oneByOne
            case .oneByOne: nil
            }
        }
    }

    /// - Throws: `DatabaseError` about one of the rows: ``Way/next(after:)`` says what to try then.
    func run(_ lines: [SyncLine], _ way: Way, _ db: Database) throws -> Outcome {
        if way == .together { try db.execute(sql: "PRAGMA defer_foreign_keys = ON") }
        return try run(lines, db, mayPark: way == .oneByOne)
    }

    private func run(_ lines: [SyncLine], _ db: Database, mayPark: Bool) throws -> Outcome {
        var outcome = Outcome()
        try StateTable.applying(db, isWhole: true) {
            var work = try Work(tables, db, mayPark: mayPark)
            for line in lines { try apply(line, &work, &outcome, db) }
            try work.flush(&outcome, db)
            try work.progress.write(db)
            // A child may have come before its parent. Once in a stream: each batch would try them all again.
            if work.hasParked, outcome.isComplete { outcome.changed += try tryParked(db) }
        }
        return outcome
    }

    /// What the lines of a batch have in common.
    struct Work {
        let own: SyncScope?
        /// Whether each row stands for itself.
        let mayPark: Bool
        var hasParked: Bool
        var progress = Progress()
        /// How rows are written, by the names of their tables.
        let rows: [String: RowApply]
        /// Whether scopes of others may give rows here.
        var hasMembers: Bool
        private var last: Spot?
        /// Has rows that are not written yet.
        private var queue: RowApply?

        init(_ tables: [SyncedTable], _ db: Database, mayPark: Bool) throws {
            own = try SyncCheckpoints.ownScope(db)
            self.mayPark = mayPark
            hasMembers = try !MemberTable.isEmpty(db)
            // While this transaction lasts, nobody else writes.
            let isQuiet = try Outbox.isEmpty(db)
            rows = Dictionary(
                tables.map { ($0.name, RowApply(table: $0, isQuiet: isQuiet)) }, uniquingKeysWith: { first, _ in first }
            )
            hasParked = try mayPark || !ParkedTable.isEmpty(db)
        }

        /// Writes a row with others, where nothing speaks against it.
        ///
        /// - Returns: false for a row that has to be written by itself.
        mutating func queue(_ row: SyncRow, at spot: Spot, _ outcome: inout Outcome, _ db: Database) throws -> Bool {
            guard !mayPark, spot.isOwn, !hasMembers else { return false }
            if queue?.table.name != spot.rows.table.name { try flush(&outcome, db) }
            guard try spot.rows.queue(row, &outcome.changed, db) else { return false }
            queue = spot.rows
            return true
        }

        /// Writes the rows that wait: before anything else that may concern them.
        mutating func flush(_ outcome: inout Outcome, _ db: Database) throws {
            guard let rows = queue else { return }
            queue = nil
            try rows.flush(&outcome.changed, db)
        }

        /// - Throws: ``SyncError`` for a type that nobody has asked for.
        mutating func spot(_ place: SyncToken.Place, _ byType: [SyncType: SyncedTable]) throws -> Spot {
            if let last, last.place == place { return last }
            guard let table = byType[place.type], let rows = rows[table.name] else {
                throw SyncError(.unexpectedReply, "The server sent '\(place.type)', which nobody has asked for.")
            }
            let spot = Spot(place, rows, isOwn: place.scope == own)
            last = spot
            return spot
        }
    }

    /// Where a line belongs, which is where the next one does mostly.
    final class Spot {
        let place: SyncToken.Place
        let rows: RowApply
        /// As text.
        let scope: String
        let isOwn: Bool

        init(_ place: SyncToken.Place, _ rows: RowApply, isOwn: Bool) {
            (self.place, self.rows, self.isOwn) = (place, rows, isOwn)
            scope = place.scope.description
        }
    }

    private func apply(_ line: SyncLine, _ work: inout Work, _ outcome: inout Outcome, _ db: Database) throws {
        if case .row = line {} else { try work.flush(&outcome, db) }
        switch line {
        case .row(let values, let token):
            if try queued(values, token, &work, &outcome, db) { return }
            try apply(values.text(SyncedTable.keyColumn) ?? "", values, token, &work, &outcome, db)
        case .deletion(let key, let token): try apply(key, nil, token, &work, &outcome, db)
        case .reached(let token, _):
            guard let table = byType[token.place.type] else { return }
            _ = try work.progress.isMarking(token.place, table, db)
            work.progress.note(token)
            try PassTable.end(token.place, db)
        case .scopeDeleted(let token): try leave(token, &work, &outcome, db)
        case .complete:
            try PassTable.endAll(db)
            outcome.isComplete = true
        case .reset(let reset, let token):
            if reset.types == nil, reset.scopes == nil {
                work.progress = Progress()
                try SyncCheckpoints.restart(token, keepsAll: reset.reason == .history, db)
                outcome.hasReset = true
            } else {
                try work.progress.write(db)
                work.progress = Progress()
                try SyncCheckpoints.forget(reset.types, reset.scopes, db)
            }
        case .failure, .heartbeat, .unknown: break
        }
    }

    /// What nearly all rows are: of the account's own, and nothing else has to be known of them than what they have.
    ///
    /// - Returns: false for one that has to be looked at.
    private func queued(
        _ values: SyncRow, _ token: SyncToken, _ work: inout Work, _ outcome: inout Outcome, _ db: Database
    ) throws -> Bool {
        guard !work.hasParked else { return false }
        let spot = try work.spot(token.place, byType)
        guard try !work.progress.isMarking(token.place, spot.rows.table, db),
            try work.queue(values, at: spot, &outcome, db)
        else { return false }
        work.progress.note(token)
        return true
    }

    private func apply(
        _ key: String, _ values: SyncRow?, _ token: SyncToken, _ work: inout Work, _ outcome: inout Outcome,
        _ db: Database
    ) throws {
        let spot = try work.spot(token.place, byType)
        let table = spot.rows.table
        let isMarking = try work.progress.isMarking(token.place, table, db)
        let entry = ParkedTable.Entry(
            table: table.name, scope: spot.scope, key: key, row: values, position: token.position)
        if work.hasParked { try ParkedTable.remove(table.name, spot.scope, key, db) }
        if let values, try work.queue(values, at: spot, &outcome, db) {
            // Written with the next ones.
        } else if work.mayPark {
            var changed = false
            let isDone = try ParkedTable.orPark(entry, db) {
                changed = try writeAlone(entry, spot, &work, db)
            }
            if isDone, changed { outcome.changed += 1 }
        } else {
            try work.flush(&outcome, db)
            if try write(entry, spot, &work, db) { outcome.changed += 1 }
        }
        if isMarking, values != nil { try PassTable.mark(table.name, key, in: token.place.scope, db) }
        work.progress.note(token)
    }

    /// As `write`, for a row whose parents have to be here.
    func writeAlone(
        _ entry: ParkedTable.Entry, _ spot: Spot, _ work: inout Work, _ db: Database
    ) throws -> Bool {
        if let row = entry.row, let missing = try spot.rows.missingParents(of: row, db).first {
            throw RowProblem.missingParent(missing.column)
        }
        return try write(entry, spot, &work, db)
    }

    /// Writes or removes a row, if the scope may say so.
    func write(
        _ entry: ParkedTable.Entry, _ spot: Spot, _ work: inout Work, _ db: Database
    ) throws -> Bool {
        let (rows, table, scope, position) = (spot.rows, spot.rows.table, spot.place.scope, entry.position)
        if spot.isOwn {
            guard let row = entry.row else {
                // It may have gone to an account whose scope gives it here as well.
                if try work.hasMembers && MemberTable.contains(table.name, entry.key, db) { return false }
                return try rows.delete(entry.key, at: position, db)
            }
            if work.hasMembers { try MemberTable.own(table.name, entry.key, db) }
            return try rows.put(row, at: position, db)
        }
        guard let row = entry.row else {
            guard try MemberTable.remove(table.name, entry.key, from: scope, db) else { return false }
            return try rows.delete(entry.key, at: position, db)
        }
        if try !MemberTable.contains(table.name, entry.key, db), try rows.isThere(entry.key, db) {
            // What this device has put into a container of somebody else belongs to that one, as the server has it.
            guard try Outbox.forgetApplied(table.name, entry.key, db) else { throw RowProblem.ownRow }
        }
        work.hasMembers = true
        try MemberTable.add(table.name, entry.key, to: scope, db)
        return try rows.put(row, at: position, db)
    }

    /// The device may not read a scope any more: what no other one gives goes, children first.
    private func leave(_ token: SyncToken, _ work: inout Work, _ outcome: inout Outcome, _ db: Database) throws {
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
                        guard try MemberTable.remove(table.name, key, from: scope, db) else { return }
                        _ = try rows.delete(key, at: .start, db)
                    }
                    if isDone { outcome.changed += 1 }
                }
                guard let end = keys.last else { break }
                last = end
            }
        }
        try PassTable.removeAll(of: scope, db)
        try SyncCheckpoints.leave(token, db)
    }
}
