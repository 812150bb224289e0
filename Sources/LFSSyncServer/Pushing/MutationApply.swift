import LFSWire

/// Applies what a device has changed, in its order and within one transaction. Each mutation is applied whole or not at
/// all, and what came of it is kept, so that one that comes again gets the same answer.
struct MutationApply: Sendable {
    let schema: CheckedSchema
    let dialect: SQLDialect
    /// Mutations that say of a file that is not in the store that it is.
    var withoutObject: Set<Int64> = []
    /// When the objects of files that are deleted go, in milliseconds since 1970; nil where the server removes none.
    var removesAt: Int64?
    /// By the names of tables; ``SyncConflictPolicy/lastWriterWins`` for all others.
    var conflicts: [String: SyncConflictPolicy] = [:]

    /// - Throws: ``WireFailure/Code/outOfStep`` for a gap, or for another mutation under a number that is taken.
    func apply(
        _ mutations: [SyncMutation], of session: SyncSession, _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        // Before the first look at a row: another device of the account may push it at this moment.
        try PostgresOrder.hold(session.own.description, db)
        var results: [SyncMutationResult] = []
        var last = session.lastSequence
        var byteCount = 0
        // Refusals come with rows, which may be much longer than what was refused. The device sends the rest again.
        for mutation in mutations where byteCount < SyncMutation.byteLimit {
            if mutation.sequence <= last {
                results.append(try MutationTable.result(of: mutation, session, db))
                byteCount += results[results.count - 1].byteCount
                continue
            }
            guard last < 0 || mutation.sequence == last + 1 else {
                throw WireFailure(
                    .outOfStep, "Mutation \(mutation.sequence) came, and \(last + 1) is the next: some are missing.")
            }
            let result = SyncMutationResult(
                id: mutation.id, sequence: mutation.sequence, try outcome(of: mutation, session, db))
            try MutationTable.add(result, session, db)
            results.append(result)
            byteCount += result.byteCount
            last = mutation.sequence
        }
        try db.execute(
            "UPDATE sync_session SET lastSequence = ?2 WHERE id = ?1", [.text(session.id), .integer(last)])
        return results
    }

    private func outcome(
        of mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        guard let table = schema.table(of: mutation.type) else {
            return .rejected(WireFailure(.unknownType, "The server has no '\(mutation.type)'."), row: nil)
        }
        let columns = table.versions[mutation.type.version - 1]
        let writer = RowWriter(
            sql: TableSQL(table: table, dialect: dialect), columns: columns, version: mutation.type.version,
            rights: RowRights(schema: schema, table: table),
            files: table.name == SyncType.fileTable
                ? FileRules(withoutObject: withoutObject, removesAt: removesAt) : nil,
            policy: conflicts[table.name] ?? .lastWriterWins)
        do {
            return try db.savepoint { try writer.apply(mutation, of: session, db) }
        } catch let failure as WireFailure {
            return .rejected(failure, row: try writer.row(mutation.key, of: session, db))
        } catch let failure as SQLFailure where failure.code == .constraint || failure.code == .invalidValue {
            let reason = WireFailure(
                .invalidRequest, "The table '\(table.name)' does not take the row: \(failure.message.prefix(200))")
            return .rejected(reason, row: try writer.row(mutation.key, of: session, db))
        }
    }
}

/// `sync_mutation`: what was answered.
enum MutationTable {
    static func add(_ result: SyncMutationResult, _ session: SyncSession, _ db: any SQLConnection) throws {
        var bytes: [UInt8] = []
        result.write(to: &bytes)
        try db.execute(
            "INSERT INTO sync_mutation (sessionID, sequence, id, result) VALUES (?1, ?2, ?3, ?4)",
            [
                .text(session.id), .integer(result.sequence), .text(result.id),
                .text(String(decoding: bytes.dropLast(), as: UTF8.self)),
            ])
    }

    /// Where an earlier mutation of a session has put its row; nil for one that was refused, or is not known any more.
    static func position(
        of sequence: Int64, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncPosition? {
        var found: SyncPosition?
        try db.query(
            "SELECT result FROM sync_mutation WHERE sessionID = ?1 AND sequence = ?2",
            [.text(session.id), .integer(sequence)]
        ) { row in
            if case .applied(let position)? = try row.withBytes(0, { try SyncMutationResult($0).outcome }) {
                found = position
            }
            return false
        }
        return found
    }

    /// What was answered to a mutation that has come before.
    ///
    /// - Throws: ``WireFailure/Code/outOfStep`` when another one came under its number.
    static func result(
        of mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult {
        var found: SyncMutationResult?
        try db.query(
            "SELECT result FROM sync_mutation WHERE sessionID = ?1 AND sequence = ?2",
            [.text(session.id), .integer(mutation.sequence)]
        ) { row in
            found = try row.withBytes(0) { try SyncMutationResult($0) }
            return false
        }
        guard let found, found.id == mutation.id else {
            throw WireFailure(
                .outOfStep, "Another device uses this session: mutation \(mutation.sequence) was another one.")
        }
        return found
    }
}

extension SyncMutationResult {
    /// As a line.
    fileprivate var byteCount: Int {
        switch outcome {
        case .conflict(.some), .rejected(_, .some):
            var bytes: [UInt8] = []
            write(to: &bytes)
            return bytes.count
        default: return 200
        }
    }
}
