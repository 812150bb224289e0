import GRDB
import LFSDatabase
import LFSSystem
import LFSWire

/// Takes in what the server has answered to changes of this device. A change that it has refused is undone with the
/// server's row, and kept beside the reason. A change of a column or a table that the server lacks waits instead, and
/// nothing is undone.
struct AnswerApply: Sendable {
    let tables: [SyncedTable]

    func apply(_ results: [SyncMutationResult], _ db: Database) throws {
        for result in results {
            guard let sent = try Outbox.sent(result.sequence, db) else { continue }
            switch result.outcome {
            case .applied(let position):
                if let id = deletedFile(sent) { try TombstoneTable.accept(id, removesObject: true, db) }
                // Where nothing had to change, the row may have come from there before.
                let isPast = try position.map { try SyncCheckpoints.isPast($0, of: sent.table, tables, db) } ?? true
                try Outbox.applied(result.sequence, at: isPast ? nil : position, db)
                // What hid behind the change until now does not come again.
                if isPast, position != nil { try settle(sent, nil, db) }
            case .conflict(let row):
                let failure = WireFailure(.stale, "Another device has changed the row before.")
                try refuse(result.sequence, sent, failure, row, db)
            case .rejected(let failure, let row): try refuse(result.sequence, sent, failure, row, db)
            }
        }
    }

    /// Lets deletions go whose files no server has ever heard of: nothing asks for them.
    func acceptUnheard(_ db: Database) throws {
        var last: FileID?
        while true {
            let page = try TombstoneTable.held(after: last, limit: 500, db)
            for id in page where try !Outbox.knows(SyncType.fileTable, id.text, db) {
                try TombstoneTable.accept(id, removesObject: true, db)
            }
            guard page.count == 500 else { return }
            last = page.last
        }
    }

    private func refuse(
        _ sequence: Int64, _ sent: Outbox.Sent, _ failure: WireFailure, _ row: SyncRow?, _ db: Database
    ) throws {
        if let table = tables.first(where: { $0.name == sent.table }),
            let lack = try Outbox.lack(in: failure, of: sent, table, db)
        {
            return try Outbox.wait(forAnswered: sequence, lack, db)
        }
        try Outbox.rejected(sequence, failure, db)
        if let id = deletedFile(sent) { try TombstoneTable.reject(id, db) }
        try settle(sent, row, db)
    }

    /// Gives a row that has no change of this device any more what the server has.
    ///
    /// - Parameter row: of the answer; nil where it has none. What a stream has brought counts more: where the answer
    ///   is newer, that comes as well.
    private func settle(_ sent: Outbox.Sent, _ row: SyncRow?, _ db: Database) throws {
        guard let table = tables.first(where: { $0.name == sent.table }) else { return }
        var row = row
        switch sent.came {
        case .row(let came): row = came
        case .deletion: return try forget(sent.key, table, db)
        case nil: break
        }
        guard let row else { return }
        let reason = try ParkedTable.refusal(db) {
            try StateTable.applying(db) { _ = try RowApply(table: table).put(row, at: .start, db) }
        }
        guard let reason, let own = try SyncCheckpoints.ownScope(db) else { return }
        try ParkedTable.park(.init(table: table.name, scope: own.description, key: sent.key, row: row), reason, db)
    }

    /// The row is gone on the server, and the change that kept it here was answered.
    private func forget(_ key: String, _ table: SyncedTable, _ db: Database) throws {
        let reason = try ParkedTable.refusal(db) {
            try StateTable.applying(db) { _ = try RowApply(table: table).delete(key, at: .start, db) }
        }
        guard let reason, let own = try SyncCheckpoints.ownScope(db) else { return }
        try ParkedTable.park(.init(table: table.name, scope: own.description, key: key, row: nil), reason, db)
    }

    private func deletedFile(_ sent: Outbox.Sent) -> FileID? {
        sent.table == SyncType.fileTable && sent.operation == .delete ? FileID(text: sent.key) : nil
    }
}
