import LFSWire

/// Writes one row of one table for one session.
struct RowWriter: Sendable {
    let sql: TableSQL
    /// What the version of the type has.
    let columns: [SyncSchema.Column]
    let version: Int

    private var name: String { sql.name }

    /// - Throws: ``WireFailure`` for what the session may not do or what makes no sense, `SQLFailure`.
    func apply(
        _ mutation: SyncMutation, of session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        let known = Set(columns.map(\.name))
        if let other = mutation.row.values.keys.first(where: { !known.contains($0) }) {
            throw WireFailure(.invalidRequest, "'\(mutation.type)' has no column '\(other.prefix(60))'.")
        }
        for (column, value) in mutation.row.values {
            guard case .text(let text) = value, text.utf8.contains(0) else { continue }
            throw WireFailure(.invalidRequest, "The text of '\(column)' has a NUL, where databases cut it off.")
        }
        let scope = try scope(of: mutation.key, db)
        if let scope, scope != session.own.description { try requireWriting(scope, session, db) }
        switch mutation.operation {
        case .put where scope == nil: try insert(mutation, session, db)
        case .put, .patch:
            // Whoever deleted it was first.
            guard scope != nil else { throw WireFailure(.missing, "The row is gone.") }
            try update(mutation, db)
        case .delete:
            guard let scope else { return .applied(nil) }
            try db.execute("DELETE FROM \(name) WHERE id = ?1", [.text(mutation.key)])
            return .applied(try head(of: scope, db))
        }
        return .applied(try position(of: mutation.key, db))
    }

    /// The row as the server has it; nil when it is gone or the session may not see it.
    func row(_ key: String, of session: SyncSession, _ db: any SQLConnection) throws -> SyncRow? {
        var found: SyncRow?
        let statement = """
            SELECT \(sql.json(version: version, of: "t")) FROM \(name) t
            JOIN sync_grant g ON g.scopeID = t.scopeID AND g.accountID = ?2 WHERE t.id = ?1
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

    private func insert(_ mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        let names = ["id", "scopeID"] + values.map { TableSQL.quoted($0.key) }
        let marks = (1...names.count).map { "?\($0)" }.joined(separator: ", ")
        try db.execute(
            "INSERT INTO \(name) (\(names.joined(separator: ", "))) VALUES (\(marks))",
            [.text(mutation.key), .text(session.own.description)] + values.map { SQLValue($0.value) })
    }

    private func update(_ mutation: SyncMutation, _ db: any SQLConnection) throws {
        let values = mutation.row.values.sorted { $0.key < $1.key }
        if values.isEmpty { return }
        let changes = values.enumerated().map { "\(TableSQL.quoted($1.key)) = ?\($0 + 2)" }
        try db.execute(
            "UPDATE \(name) SET \(changes.joined(separator: ", ")) WHERE id = ?1",
            [.text(mutation.key)] + values.map { SQLValue($0.value) })
    }

    private func requireWriting(_ scope: String, _ session: SyncSession, _ db: any SQLConnection) throws {
        var mayWrite = false
        let statement = "SELECT 1 FROM sync_grant WHERE scopeID = ?1 AND accountID = ?2 AND role <> 'viewer'"
        try db.query(statement, [.text(scope), .text(session.account)]) { _ in
            mayWrite = true
            return false
        }
        guard mayWrite else { throw WireFailure(.forbidden, "This account may not write that row.") }
    }

    // MARK: What is there

    private func scope(of key: String, _ db: any SQLConnection) throws -> String? {
        try text("SELECT scopeID FROM \(name) WHERE id = ?1", key, db)
    }

    private func position(of key: String, _ db: any SQLConnection) throws -> SyncPosition? {
        try text("SELECT updateID FROM \(name) WHERE id = ?1", key, db).flatMap { SyncPosition($0) }
    }

    private func head(of scope: String, _ db: any SQLConnection) throws -> SyncPosition? {
        try text("SELECT head FROM sync_scope WHERE id = ?1", scope, db).flatMap { SyncPosition($0) }
    }

    private func text(_ statement: String, _ argument: String, _ db: any SQLConnection) throws -> String? {
        var found: String?
        try db.query(statement, [.text(argument)]) { row in
            found = try row.text(0)
            return false
        }
        return found
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
