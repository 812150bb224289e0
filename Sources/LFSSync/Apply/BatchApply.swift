import GRDB
import LFSDatabase
import LFSWire

/// Applies a batch of lines in one transaction, and writes down in it how far that is. Killed before the commit, the
/// lines come again; after it, none does.
struct BatchApply: Sendable {
    /// By the name of their type, parents first.
    let tables: [SyncedTable]
    private let byType: [String: SyncedTable]

    init(_ tables: [SyncedTable]) {
        self.tables = tables
        byType = Dictionary(tables.map { ($0.type.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// What a batch has come to.
    struct Outcome: Sendable, Equatable {
        /// Rows that have changed something here.
        var changed = 0
        var isComplete = false
        /// Whether the device begins anew.
        var hasReset = false
    }

    /// All lines together, with references looked at when all of them are there.
    ///
    /// - Throws: `DatabaseError` about one of the rows: ``oneByOne(_:_:)`` is the way then.
    func together(_ lines: [SyncLine], _ db: Database) throws -> Outcome {
        try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
        var outcome = Outcome()
        try StateTable.applying(db) {
            let mayBeParked = try !ParkedTable.isEmpty(db)
            for line in lines {
                try apply(line, &outcome, mayBeParked: mayBeParked, db) { row, apply in try apply(row) }
            }
            if outcome.isComplete, mayBeParked { outcome.changed += try tryParked(db) }
        }
        return outcome
    }

    /// Each row by itself: what cannot be applied is parked, and the others go on.
    func oneByOne(_ lines: [SyncLine], _ db: Database) throws -> Outcome {
        var outcome = Outcome()
        try StateTable.applying(db) {
            for line in lines {
                try apply(line, &outcome, mayBeParked: true, db) { entry, apply in
                    if let reason = try refusal(of: entry, db, apply) { try ParkedTable.park(entry, reason, db) }
                }
            }
            // A child may have come before its parent.
            outcome.changed += try tryParked(db)
        }
        return outcome
    }

    private func apply(
        _ line: SyncLine, _ outcome: inout Outcome, mayBeParked: Bool, _ db: Database,
        _ row: (ParkedTable.Entry, (ParkedTable.Entry) throws -> Void) throws -> Void
    ) throws {
        switch line {
        case .row(let values, let token):
            let key = values.text(SyncedTable.keyColumn) ?? ""
            try apply(key, values, token, &outcome, mayBeParked, db, row)
        case .deletion(let key, let token): try apply(key, nil, token, &outcome, mayBeParked, db, row)
        case .reached(let token, _): try SyncCheckpoints.note(token, db)
        case .scopeDeleted(let token): try SyncCheckpoints.note(token, db)
        case .complete: outcome.isComplete = true
        case .reset(let reset, let token):
            guard reset.types == nil, reset.scopes == nil else { return }
            try SyncCheckpoints.restart(token, db)
            outcome.hasReset = true
        case .failure, .heartbeat, .unknown: break
        }
    }

    private func apply(
        _ key: String, _ values: SyncRow?, _ token: SyncToken, _ outcome: inout Outcome, _ mayBeParked: Bool,
        _ db: Database, _ row: (ParkedTable.Entry, (ParkedTable.Entry) throws -> Void) throws -> Void
    ) throws {
        guard let table = byType[token.place.type.name] else {
            throw SyncError(.unexpectedReply, "The server sent '\(token.place.type)', which nobody has asked for.")
        }
        let scope = token.place.scope.description
        if mayBeParked { try ParkedTable.remove(table.name, scope, key, db) }
        let entry = ParkedTable.Entry(table: table.name, scope: scope, key: key, row: values)
        var changed = false
        try row(entry) { entry in changed = try write(entry, table, at: token.position, db) }
        if changed { outcome.changed += 1 }
        try SyncCheckpoints.note(token, db)
    }

    private func write(
        _ entry: ParkedTable.Entry, _ table: SyncedTable, at position: SyncPosition, _ db: Database
    ) throws -> Bool {
        let rows = RowApply(table: table)
        if let row = entry.row { return try rows.put(row, at: position, db) }
        return try rows.delete(entry.key, at: position, db)
    }

    /// Why a row cannot be applied, undone then; nil when it is.
    private func refusal(
        of entry: ParkedTable.Entry, _ db: Database, _ apply: (ParkedTable.Entry) throws -> Void
    ) throws -> (any Error)? {
        do {
            try db.inSavepoint {
                if let row = entry.row, let table = tables.first(where: { $0.name == entry.table }),
                    let column = try RowApply(table: table).missingParent(of: row, db)
                {
                    throw RowProblem.missingParent(column)
                }
                try apply(entry)
                return .commit
            }
            return nil
        } catch let problem as RowProblem {
            return problem
        } catch let error as DatabaseError where error.isOfRow {
            return error
        }
    }

    /// Tries what is parked, parents first, until nothing more of it can be applied.
    private func tryParked(_ db: Database) throws -> Int {
        var changed = 0
        var before = 0
        repeat {
            before = changed
            for table in tables {
                var last: Int64 = 0
                while true {
                    let page = try ParkedTable.page(table.name, after: last, db)
                    for (rowID, entry) in page {
                        last = rowID
                        let reason = try refusal(of: entry, db) { entry in
                            _ = try write(entry, table, at: .start, db)
                            try ParkedTable.remove(entry.table, entry.scope, entry.key, db)
                        }
                        if reason == nil { changed += 1 }
                    }
                    if page.count < 500 { break }
                }
            }
        } while changed > before
        return changed
    }
}
