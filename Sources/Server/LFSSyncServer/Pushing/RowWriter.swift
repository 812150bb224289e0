import LFSWire

/// A writer of one row of a table for one session.
struct RowWriter: Sendable {
    let sql: TableSQL
    /// The columns of the type's version.
    let columns: [SyncSchema.Column]
    let version: Int
    let rights: RowAuthorization
    /// The rules for files, or nil for another table.
    let files: FileRules?
    /// The policy for changes of rows that have changed in the meantime.
    var policy = SyncConflictPolicy.lastWriterWins
    /// The check against the quotas of accounts.
    let check: QuotaCheck

    private var name: String { sql.name }

    /// Applies a mutation.
    ///
    /// - Throws: ``WireFailure`` if the session lacks the right or the mutation is invalid, and `SQLFailure`.
    func apply(
        _ mutation: SyncMutation, of session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        let known = Set(columns.map(\.name))
        if let other = mutation.row.values.keys.first(where: { !known.contains($0) }) {
            throw WireFailure(.unknownColumn, message: "'\(mutation.type)' has no column '\(other.prefix(60))'.")
        }
        for (column, value) in mutation.row.values {
            guard case .text(let text) = value, text.utf8.contains(0) else { continue }
            throw WireFailure(
                .invalidRequest, message: "The text of '\(column)' has a NUL, at which databases would cut it off.")
        }
        let (scope, visible) = try scope(of: mutation.key, session, db)
        switch mutation.operation {
        case .put where scope == nil:
            let place = try rights.place(forNew: mutation, session, db)
            try rights.requireParents(mutation, in: place.scope, session: session, db)
            try files?.requireNew(mutation, session: session, db)
            let before = try check.before(.most(of: mutation, table: sql.table), in: place.scope, db)
            try insert(mutation, in: place.scope, db)
            try before?.requireRoom(db)
            if let shared = place.shared {
                try check.deletions.apply(to: shared.id, rows: shared.entries, deletions: shared.deletions, db)
            }
            try rights.requireRoom(for: mutation, session, db)
        case .put where visible == nil:
            throw WireFailure(.forbidden, message: "This account may not write that row.")
        case .put, .patch:
            // Another device has deleted the row before.
            guard let visible else { throw WireFailure(.missing, message: "The row was deleted.") }
            try rights.requireChanging(mutation, in: visible, session: session, db)
            var mutation = mutation
            switch try stale.outcome(of: mutation, in: visible, session, db) {
            case .asSent: break
            case .stored(let row): mutation.row = row
            case .refused: return .conflict(row: try row(mutation.key, of: session, db))
            }
            try rights.requireChanging(mutation, in: visible, session: session, db)
            try rights.requireParents(mutation, in: visible, session: session, db)
            try files?.requireChange(mutation, session: session, db)
            let before = try check.before(.most(of: mutation, table: sql.table), in: visible, db)
            try update(mutation, db)
            try before?.requireRoom(db)
        case .delete:
            guard let visible else { return .applied(nil) }
            try rights.requireRemoving(mutation.key, in: visible, session: session, db)
            if case .refused = try stale.outcome(of: mutation, in: visible, session, db) {
                return .conflict(row: try row(mutation.key, of: session, db))
            }
            try files?.noteRemoval(of: mutation.key, db)
            try db.execute("DELETE FROM \(name) WHERE id = ?1", arguments: [.text(mutation.key)])
            return .applied(visible == session.own.description ? try head(of: visible, db) : nil)
        }
        return .applied(try checkedPosition(of: mutation.key, session, db))
    }

    /// Removes some of the rows that a deletion would delete or detach. See ``DependentRows``.
    ///
    /// - Returns: their number. Zero if the deletion would be refused, or if none is left.
    /// - Throws: `SQLFailure`.
    func removeDependents(
        of mutation: SyncMutation, _ session: SyncSession, schema: CheckedSchema, _ db: any SQLConnection
    ) throws -> Int {
        do {
            guard let visible = try scope(of: mutation.key, session, db).visible else { return 0 }
            try rights.requireRemoving(mutation.key, in: visible, session: session, db)
            if case .refused = try stale.outcome(of: mutation, in: visible, session, db) { return 0 }
        } catch is WireFailure {
            return 0
        }
        return try DependentRows(schema: schema, table: sql.table).removeSome(below: mutation.key, db)
    }

    /// Returns the server's row. Nil if it does not exist or the session may not see it.
    func row(_ key: String, of session: SyncSession, _ db: any SQLConnection) throws -> SyncRow? {
        var found: SyncRow?
        let statement = """
            SELECT \(sql.json(version: version, of: "t")) FROM \(name) t
            WHERE t.id = ?1 AND \(RowAuthorization.isVisible(sql.table.name))
            """
        try db.query(statement, arguments: [.text(key), .text(session.account)]) { row in
            found = try row.withBytes(0) { bytes in
                var scanner = JSONScanner(bytes)
                return try SyncRow(&scanner)
            }
            return false
        }
        return found
    }

    private var stale: ConflictCheck { ConflictCheck(sql: sql, version: version, policy: policy) }

    /// Returns the position of a row for the session, after a check of its size. Several small changes may add up to a
    /// row whose line is too long for devices.
    private func checkedPosition(
        of key: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncPosition? {
        var count = 0
        var position: SyncPosition?
        let versions = Array(1...sql.table.versions.count)
        let lines = versions.map { sql.json(version: $0, of: "t") }.joined(separator: ", ")
        let statement = "SELECT \(lines), (\(sql.positionQuery)) FROM \(name) t WHERE t.id = ?1"
        try db.query(
            statement, arguments: [.text(key), .text(session.account), .text(session.own.description)]
        ) { row in
            for version in versions { count = max(count, try row.withBytes(version - 1) { $0.count } ?? 0) }
            position = try row.text(versions.count).flatMap { SyncPosition($0) }
            return false
        }
        guard count <= Self.lineLimit else {
            throw WireFailure(
                .tooLarge,
                message: "The row would have \(count) bytes, and the limit is \(Self.lineLimit). Store it as a file.")
        }
        return position
    }

    /// The maximum size of a row, which leaves space for the rest of its line.
    static let lineLimit = LineSplitter.limit - 1_024

    private func insert(_ mutation: SyncMutation, in scope: String, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        let names = ["id", "scopeID"] + values.map { TableSQL.quoted($0.key) }
        let marks = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
        try db.execute(
            "INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(marks))",
            arguments: [.text(mutation.key), .text(scope)] + values.map { SQLValue($0.value) })
    }

    private func update(_ mutation: SyncMutation, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        if values.isEmpty { return }
        let changes = values.enumerated().map { "\(TableSQL.quoted($1.key)) = ?\($0 + 2)" }
        try db.execute(
            "UPDATE \(name) SET \(changes.joined(separator: ", ")) WHERE id = ?1",
            arguments: [.text(mutation.key)] + values.map { SQLValue($0.value) })
    }

    // MARK: Queries

    /// Returns the scope of a row, and the same scope if the session may see the row.
    private func scope(
        of key: String, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> (scope: String?, visible: String?) {
        var found: (scope: String?, visible: String?)
        let statement = """
            SELECT t.scopeID, CASE WHEN \(RowAuthorization.isVisible(sql.table.name)) THEN t.scopeID END
            FROM \(name) t WHERE t.id = ?1
            """
        try db.query(statement, arguments: [.text(key), .text(session.account)]) { row in
            found = (try row.text(0), try row.text(1))
            return false
        }
        return found
    }

    private func head(of scope: String, _ db: any SQLConnection) throws -> SyncPosition? {
        try db.firstText("SELECT head FROM sync_scope WHERE id = ?1", arguments: [.text(scope)]).flatMap {
            SyncPosition($0)
        }
    }
}

extension SQLValue {
    init(_ value: SyncValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .real(let value): self = .real(value)
        case .text(let text): self = .text(text)
        case .blob(let blob): self = .blob(blob)
        }
    }
}
