import GRDB
import LFSWire

extension BatchApply {
    /// Tries what is parked, until nothing more of it can be applied.
    func tryParked(_ db: Database) throws -> Int {
        var work = try Work(tables, db, mayPark: true)
        var changed = 0
        var before = 0
        repeat {
            before = changed
            changed += try tryEach(&work, db)
            if changed == before { changed += try tryCircles(&work, db) }
        } while changed > before
        return changed
    }

    /// Each by itself, parents first.
    private func tryEach(_ work: inout Work, _ db: Database) throws -> Int {
        var changed = 0
        try eachParked(&work, db) { _, entry, spot, work in
            let reason = try ParkedTable.refusal(db) {
                _ = try writeAlone(entry, spot, &work, db)
                try ParkedTable.remove(entry.table, entry.scope, entry.key, db)
            }
            if reason == nil { changed += 1 }
        }
        return changed
    }

    /// Rows that came in several batches and refer to one another, such as an album to its cover and a picture to its
    /// album: together.
    private func tryCircles(_ work: inout Work, _ db: Database) throws -> Int {
        // Something else of this batch is open: its commit will fail, and this comes again.
        guard !db.hasOpenReferences else { return 0 }
        var circles = ParkedCircles()
        try eachParked(&work, db) { rowID, entry, spot, _ in
            guard let row = entry.row else { return }
            let missing = try spot.rows.missingParents(of: row, db)
            let keys = missing.compactMap { parent -> ParkedCircles.Key? in
                guard parent.destination == SyncedTable.keyColumn, case .text(let id) = parent.value else { return nil }
                return .init(table: parent.table, id: id)
            }
            guard !keys.isEmpty, keys.count == missing.count else { return }
            circles.add(rowID, .init(table: entry.table, id: entry.key), lacking: keys)
        }
        while true {
            let rowIDs = circles.closed
            if rowIDs.isEmpty { return 0 }
            let refused = try tryTogether(rowIDs, &work, db)
            if refused.isEmpty { return rowIDs.count }
            for rowID in refused { circles.remove(rowID) }
        }
    }

    /// All of them, or none.
    ///
    /// - Returns: those that cannot be applied whatever becomes of the others.
    private func tryTogether(_ rowIDs: [Int64], _ work: inout Work, _ db: Database) throws -> [Int64] {
        var refused: [Int64] = []
        try db.inSavepoint {
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            for rowID in rowIDs {
                guard let entry = try ParkedTable.entry(rowID, db), let spot = try spot(of: entry, &work) else {
                    continue
                }
                let reason = try ParkedTable.refusal(db, leavesOpen: true) {
                    _ = try write(entry, spot, &work, db)
                    try ParkedTable.remove(entry.table, entry.scope, entry.key, db)
                }
                if reason != nil { refused.append(rowID) }
            }
            if refused.isEmpty, db.hasOpenReferences { refused = rowIDs }
            return refused.isEmpty ? .commit : .rollback
        }
        // Nothing is open now, which this would forget.
        try db.execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return refused
    }

    private func eachParked(
        _ work: inout Work, _ db: Database,
        _ body: (_ rowID: Int64, ParkedTable.Entry, Spot, inout Work) throws -> Void
    ) throws {
        for table in tables {
            var last: Int64 = 0
            while true {
                let page = try ParkedTable.page(table.name, after: last, db)
                guard let end = page.last else { break }
                for (rowID, entry) in page {
                    guard let spot = try spot(of: entry, &work) else { continue }
                    try body(rowID, entry, spot, &work)
                }
                last = end.rowID
            }
        }
    }

    private func spot(of entry: ParkedTable.Entry, _ work: inout Work) throws -> Spot? {
        guard let scope = SyncScope(entry.scope), let table = tables.first(where: { $0.name == entry.table }) else {
            return nil
        }
        return try work.spot(SyncToken.Place(table.type, scope), byType)
    }
}
