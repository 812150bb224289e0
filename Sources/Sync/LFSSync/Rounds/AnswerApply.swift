import GRDB
import LFSDatabase
import LFSSystem
import LFSWire

/// A writer that applies the server's answers to local changes. It undoes a refused change with the server's row, and
/// stores the change with the reason. A change of a column or table that the server lacks waits instead, and is not
/// undone.
struct AnswerApply: Sendable {
    let tables: [SyncedTable]

    /// Applies answers.
    ///
    /// - Returns: the number of changes that wait for room in the account.
    func apply(_ results: [SyncMutationResult], _ db: Database) throws -> Int {
        var waitingCount = 0
        for result in results {
            guard let sent = try Outbox.sent(result.sequence, db) else { continue }
            switch result.outcome {
            case .applied(let position):
                if let id = deletedFile(sent) { try accept(id, at: position, db) }
                // A missing position means that the server had nothing to change. The row may already have arrived.
                let isPast = try position.map { try hasArrived(sent, at: $0, db) } ?? true
                try Outbox.applied(result.sequence, at: isPast ? nil : position, db)
                // The stream does not send again what the pending change has hidden until now.
                if isPast, position != nil { try settle(sent, row: nil, db) }
            case .conflict(let row):
                let failure = WireFailure(.stale, message: "Another device has changed the row earlier.")
                _ = try refuse(result.sequence, sent: sent, failure: failure, row: row, db)
            case .rejected(let failure, let row):
                let lack = try refuse(result.sequence, sent: sent, failure: failure, row: row, db)
                if let lack, !Outbox.isLack(lack) { waitingCount += 1 }
            }
        }
        return waitingCount
    }

    /// Accepts deletions of files that the server has never heard of. No answer will arrive for them.
    func acceptUnheard(_ db: Database) throws {
        var last: FileID?
        while true {
            let page = try TombstoneTable.held(after: last, limit: 500, db)
            for id in page where try !Outbox.knows(SyncType.fileTable, key: id.text, db) {
                try TombstoneTable.accept(id, removesObject: true, db)
            }
            guard page.count == 500 else { return }
            last = page.last
        }
    }

    /// Returns true if the stream has already brought a row at the position of its change, and will not bring it again.
    ///
    /// A new row in another account's container has a position of another scope, which the checkpoint of the account's
    /// own rows does not reach. The entry of such a row stays until the row arrives. Without it, the row would count as
    /// an own one. An own row that has arrived is in the entry as an incoming change.
    private func hasArrived(_ sent: Outbox.Sent, at position: SyncPosition, _ db: Database) throws -> Bool {
        if sent.operation == .put, sent.came == nil {
            if !sent.isKnown { return false }
            if try ParkedTable.containsForeign(sent.table, key: sent.key, db) { return false }
        }
        return try SyncCheckpoints.isPast(position, of: sent.table, tables: tables, db)
    }

    /// Accepts the deletion of a file.
    ///
    /// - Parameter position: the position of the deletion, or nil if the server does not show the file to this account.
    private func accept(_ id: FileID, at position: SyncPosition?, _ db: Database) throws {
        if position == nil {
            try TombstoneTable.acceptMissing(id, db)
        } else {
            try TombstoneTable.accept(id, removesObject: true, db)
        }
    }

    /// - Returns: the reason why the change waits, or nil if it was undone.
    private func refuse(
        _ sequence: Int64, sent: Outbox.Sent, failure: WireFailure, row: SyncRow?, _ db: Database
    ) throws -> String? {
        if let table = tables.first(where: { $0.name == sent.table }),
            let lack = try Outbox.lack(in: failure, of: sent, table, db)
        {
            try Outbox.wait(forAnswered: sequence, lack, db)
            return lack
        }
        try Outbox.rejected(sequence, failure: failure, db)
        if let id = deletedFile(sent) { try TombstoneTable.reject(id, db) }
        try settle(sent, row: row, db)
        return nil
    }

    /// Replaces a row by the server's version, once no local change of it is pending.
    ///
    /// - Parameter row: the row in the answer, or nil if it has none. An incoming change from the stream takes
    ///   precedence. If the answer is newer, the stream will bring that version as well.
    private func settle(_ sent: Outbox.Sent, row: SyncRow?, _ db: Database) throws {
        guard let table = tables.first(where: { $0.name == sent.table }) else { return }
        var row = row
        switch sent.came {
        case .row(let came): row = came
        case .deletion: return try forget(sent.key, table: table, db)
        case nil: break
        }
        guard let row else { return }
        let reason = try ParkedTable.refusal(db) {
            try StateTable.applying(db) { _ = try RowApply(table: table).put(row, at: .start, db) }
        }
        guard let reason, let own = try SyncCheckpoints.ownScope(db) else { return }
        try ParkedTable.park(
            .init(table: table.name, scope: own.description, key: sent.key, row: row), reason: reason, db)
    }

    /// Deletes a row that the server has deleted. Only the change that was just answered kept it on this device.
    private func forget(_ key: String, table: SyncedTable, _ db: Database) throws {
        let reason = try ParkedTable.refusal(db) {
            try StateTable.applying(db) { _ = try RowApply(table: table).delete(key, at: .start, db) }
        }
        guard let reason, let own = try SyncCheckpoints.ownScope(db) else { return }
        try ParkedTable.park(.init(table: table.name, scope: own.description, key: key, row: nil), reason: reason, db)
    }

    private func deletedFile(_ sent: Outbox.Sent) -> FileID? {
        sent.table == SyncType.fileTable && sent.operation == .delete ? FileID(text: sent.key) : nil
    }
}
