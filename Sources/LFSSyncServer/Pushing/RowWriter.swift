import LFSWire

/// Writes one row of one table for one session.
struct RowWriter: Sendable {
    let sql: TableSQL
    /// What the version of the type has.
    let columns: [SyncSchema.Column]
    let version: Int
    let rights: RowRights
    /// nil for what is no file.
    let files: FileRules?
    /// What becomes of a change of a row that is another by now.
    var policy = SyncConflictPolicy.lastWriterWins

    private var name: String { sql.name }

    /// - Throws: ``WireFailure`` for what the session may not do or what makes no sense, `SQLFailure`.
    func apply(
        _ mutation: SyncMutation, of session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        let known = Set(columns.map(\.name))
        if let other = mutation.row.values.keys.first(where: { !known.contains($0) }) {
            throw WireFailure(.unknownColumn, "'\(mutation.type)' has no column '\(other.prefix(60))'.")
        }
        for (column, value) in mutation.row.values {
            guard case .text(let text) = value, text.utf8.contains(0) else { continue }
            throw WireFailure(.invalidRequest, "The text of '\(column)' has a NUL, where databases cut it off.")
        }
        let scope = try scope(of: mutation.key, db)
        let visible = try RowRights.visibleScope(of: mutation.key, in: sql.table.name, session, db)
        switch mutation.operation {
        case .put where scope == nil:
            let scope = try rights.scope(forNew: mutation, session, db)
            try rights.requireParents(mutation, in: scope, session, db)
            try files?.requireNew(mutation, session, db)
            try insert(mutation, in: scope, db)
            try rights.requireRoom(for: mutation, session, db)
        case .put where visible == nil:
            throw WireFailure(.forbidden, "This account may not write that row.")
        case .put, .patch:
            // Whoever deleted it was first.
            guard let visible else { throw WireFailure(.missing, "The row is gone.") }
            try rights.requireChanging(mutation, in: visible, session, db)
            var mutation = mutation
            switch try stale.outcome(of: mutation, in: visible, session, db) {
            case .asSent: break
            case .stored(let row): mutation.row = row
            case .refused: return .conflict(row: try row(mutation.key, of: session, db))
            }
            try rights.requireChanging(mutation, in: visible, session, db)
            try rights.requireParents(mutation, in: visible, session, db)
            try files?.requireChange(mutation, session, db)
            try update(mutation, db)
        case .delete:
            guard let visible else { return .applied(nil) }
            try rights.requireRemoving(mutation.key, in: visible, session, db)
            if case .refused = try stale.outcome(of: mutation, in: visible, session, db) {
                return .conflict(row: try row(mutation.key, of: session, db))
            }
            try files?.noteRemoval(of: mutation.key, db)
            try db.execute("DELETE FROM \(name) WHERE id = ?1", [.text(mutation.key)])
            return .applied(visible == session.own.description ? try head(of: visible, db) : nil)
        }
        try requireRoom(mutation.key, db)
        return .applied(try position(of: mutation.key, for: session, db))
    }

    /// The row as the server has it; nil when it is gone or the session may not see it.
    func row(_ key: String, of session: SyncSession, _ db: any SQLConnection) throws -> SyncRow? {
        var found: SyncRow?
        let statement = """
            SELECT \(sql.json(version: version, of: "t")) FROM \(name) t
            WHERE t.id = ?1 AND \(RowRights.isVisible(sql.table.name))
            """
        try db.query(statement, [.text(key), .text(session.account)]) { row in
            found = try row.withBytes(0) { bytes in
                var scanner = JSONScanner(bytes)
                return try SyncRow(&scanner)
            }
            return false
        }
        return found
    }

    private var stale: StaleEdits { StaleEdits(sql: sql, version: version, policy: policy) }

    /// What one change leaves room for, several may fill: no device takes a longer line.
    private func requireRoom(_ key: String, _ db: any SQLConnection) throws {
        var count = 0
        for version in 1...sql.table.versions.count {
            try db.query("SELECT \(sql.json(version: version, of: "t")) FROM \(name) t WHERE t.id = ?1", [.text(key)]) {
                count = max(count, try $0.withBytes(0) { $0.count } ?? 0)
                return false
            }
        }
        guard count <= Self.lineLimit else {
            throw WireFailure(
                .tooLarge, "The row would have \(count) bytes, and \(Self.lineLimit) is what fits: make it a file.")
        }
    }

    /// Of a line without what stands around its row.
    private static let lineLimit = LineSplitter.limit - 1_024

    private func insert(_ mutation: SyncMutation, in scope: String, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        let names = ["id", "scopeID"] + values.map { TableSQL.quoted($0.key) }
        let marks = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
        try db.execute(
            "INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(marks))",
            [.text(mutation.key), .text(scope)] + values.map { SQLValue($0.value) })
    }

    private func update(_ mutation: SyncMutation, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        if values.isEmpty { return }
        let changes = values.enumerated().map { "\(TableSQL.quoted($1.key)) = ?\($0 + 2)" }
        try db.execute(
            "UPDATE \(name) SET \(changes.joined(separator: ", ")) WHERE id = ?1",
            [.text(mutation.key)] + values.map { SQLValue($0.value) })
    }

    // MARK: What is there

    private func scope(of key: String, _ db: any SQLConnection) throws -> String? {
        try db.firstText("SELECT scopeID FROM \(name) WHERE id = ?1", [.text(key)])
    }

    /// The position with which the row comes to the session, and the first of them where it comes in several scopes.
    private func position(
        of key: String, for session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncPosition? {
        try sql.position(of: key, for: session, db)
    }

    private func head(of scope: String, _ db: any SQLConnection) throws -> SyncPosition? {
        try db.firstText("SELECT head FROM sync_scope WHERE id = ?1", [.text(scope)]).flatMap { SyncPosition($0) }
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
