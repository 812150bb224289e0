import GRDB
import LFSWire

extension BatchApply {
    /// Applies parked rows until no more of them can be applied.
    func tryParked(_ db: Database) throws -> Int {
        var work = try Context(tables, db, mayPark: true)
        var changed = 0
        var before = 0
        repeat {
            before = changed
            changed += try tryEach(&work, db)
            if changed == before { changed += try tryCircles(&work, db) }
        } while changed > before
        return changed
    }

    /// Applies each parked row separately, parent tables first.
    private func tryEach(_ work: inout Context, _ db: Database) throws -> Int {
        var changed = 0
        try eachParked(&work, db) { _, entry, spot, work in
            let reason = try ParkedTable.refusal(db) {
                _ = try writeAlone(entry, spot: spot, work: &work, db)
                try ParkedTable.remove(entry.table, scope: entry.scope, key: entry.key, db)
            }
            if reason == nil { changed += 1 }
        }
        return changed
    }

    /// Applies rows together that arrived in several batches and refer to one another. An example is an album that
    /// refers to its cover, a picture in the same album.
    private func tryCircles(_ work: inout Context, _ db: Database) throws -> Int {
        // A reference of another row in this batch is open. The commit will fail, and the lines will be applied again.
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
            circles.add(rowID, key: .init(table: entry.table, id: entry.key), lacking: keys)
        }
        while true {
            let rowIDs = circles.closed
            if rowIDs.isEmpty { return 0 }
            let refused = try tryTogether(rowIDs, work: &work, db)
            if refused.isEmpty { return rowIDs.count }
            for rowID in refused { circles.remove(rowID) }
        }
    }

    /// Applies all of the rows, or none of them.
    ///
    /// - Returns: the rows that cannot be applied even together with the others. Empty if all were applied.
    private func tryTogether(_ rowIDs: [Int64], work: inout Context, _ db: Database) throws -> [Int64] {
        var refused: [Int64] = []
        try db.inSavepoint {
            try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
            for rowID in rowIDs {
                guard let entry = try ParkedTable.entry(rowID, db), let spot = try spot(of: entry, &work) else {
                    continue
                }
                let reason = try ParkedTable.refusal(db, leavesOpen: true) {
                    _ = try write(entry, spot: spot, work: &work, db)
                    try ParkedTable.remove(entry.table, scope: entry.scope, key: entry.key, db)
                }
                if reason != nil { refused.append(rowID) }
            }
            if refused.isEmpty, db.hasOpenReferences { refused = rowIDs }
            return refused.isEmpty ? .commit : .rollback
        }
        // No reference is open at this point. Ending the deferral would forget an open one.
        try db.execute(sql: "PRAGMA defer_foreign_keys = OFF")
        return refused
    }

    private func eachParked(
        _ work: inout Context, _ db: Database,
        _ body: (_ rowID: Int64, ParkedTable.Entry, Target, inout Context) throws -> Void
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

    private func spot(of entry: ParkedTable.Entry, _ work: inout Context) throws -> Target? {
        guard let scope = SyncScope(entry.scope), let table = tables.first(where: { $0.name == entry.table }) else {
            return nil
        }
        return try work.spot(SyncToken.Place(table.type, scope: scope), byType: byType)
    }
}
