import LFSWire

/// Applies what a device has changed, in its order and within one transaction. Each mutation is applied whole or not at
/// all. The answer is kept until the device has heard it, so that a mutation that comes again gets the same one.
struct MutationApply: Sendable {
    let schema: CheckedSchema
    let dialect: SQLDialect
    /// Mutations that say of a file that is not in the store that it is.
    var withoutObject: Set<Int64> = []
    /// When the objects of files that are deleted go, in milliseconds since 1970; nil where the server removes none.
    var removesAt: Int64?
    /// By the names of tables; ``SyncConflictPolicy/lastWriterWins`` for all others.
    var conflicts: [String: SyncConflictPolicy] = [:]

    /// - Returns: the results of the first mutations. Where the answers are long or the time is spent, the device sends
    ///   the others again.
    /// - Throws: ``WireFailure/Code/outOfStep`` for a gap, or for another mutation under a number that is taken.
    ///   ``PushTooSlow`` when a mutation did not end in time.
    func apply(
        _ mutations: ArraySlice<SyncMutation>, of session: SyncSession, within budget: PushBudget,
        _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        // Before the first look at a row: another device of the account may push it at this moment.
        try PostgresOrder.hold(session.own.description, db)
        if let first = mutations.first { try MutationTable.removeHeard(before: first.sequence, session, db) }
        return try db.limited(to: PushBudget.hard, until: { budget.isOver }) {
            try applyEach(of: mutations, of: session, within: budget, db)
        }
    }

    private func applyEach(
        of mutations: ArraySlice<SyncMutation>, of session: SyncSession, within budget: PushBudget,
        _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        var results: [SyncMutationResult] = []
        var last = session.lastSequence
        var byteCount = 0
        // Refusals come with rows, which may be much longer than what was refused. The device sends the rest again.
        for mutation in mutations where byteCount < SyncMutation.byteLimit && (results.isEmpty || !budget.isSpent) {
            if mutation.sequence <= last {
                var result = try MutationTable.result(of: mutation, session, db)
                result.outcome = try completed(result.outcome, of: mutation, session, db)
                results.append(result)
                byteCount += results[results.count - 1].byteCount
                continue
            }
            guard last < 0 || mutation.sequence == last + 1 else {
                throw WireFailure(
                    .outOfStep, "Mutation \(mutation.sequence) came, and \(last + 1) is the next: some are missing.")
            }
            let outcome: SyncMutationResult.Outcome
            do {
                outcome = try self.outcome(of: mutation, session, db)
            } catch let failure as SQLFailure where failure.code == .timeout {
                throw PushTooSlow(count: results.count)
            }
            if budget.isOver { throw PushTooSlow(count: results.count) }
            let result = SyncMutationResult(id: mutation.id, sequence: mutation.sequence, outcome)
            try MutationTable.add(result, session, db)
            results.append(result)
            byteCount += result.byteCount
            last = mutation.sequence
        }
        try db.execute(
            "UPDATE sync_session SET lastSequence = ?2 WHERE id = ?1", [.text(session.id), .integer(last)])
        return results
    }

    private func writer(of mutation: SyncMutation) -> RowWriter? {
        guard let table = schema.table(of: mutation.type) else { return nil }
        let columns = table.versions[mutation.type.version - 1]
        return RowWriter(
            sql: TableSQL(table: table, dialect: dialect), columns: columns, version: mutation.type.version,
            rights: RowRights(schema: schema, table: table),
            files: table.name == SyncType.fileTable
                ? FileRules(withoutObject: withoutObject, removesAt: removesAt) : nil,
            policy: conflicts[table.name] ?? .lastWriterWins)
    }

    /// An answer that is given again: of a refusal only the code was kept, and the row is the one that is there now.
    private func completed(
        _ outcome: SyncMutationResult.Outcome, of mutation: SyncMutation, _ session: SyncSession,
        _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        let row = { try writer(of: mutation)?.row(mutation.key, of: session, db) }
        switch outcome {
        case .applied: return outcome
        case .conflict: return .conflict(row: try row())
        case .rejected(let failure, _):
            let again = WireFailure(failure.code, "The server has refused this change before (\(failure.code)).")
            return .rejected(again, row: try row())
        }
    }

    private func outcome(
        of mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        guard let writer = writer(of: mutation) else {
            return .rejected(WireFailure(.unknownType, "The server has no '\(mutation.type)'."), row: nil)
        }
        do {
            return try db.savepoint { try writer.apply(mutation, of: session, db) }
        } catch let failure as WireFailure {
            return .rejected(failure, row: try writer.row(mutation.key, of: session, db))
        } catch let failure as SQLFailure where failure.code == .constraint || failure.code == .invalidValue {
            let name = writer.sql.table.name
            let reason = WireFailure(
                .invalidRequest, "The table '\(name)' does not take the row: \(failure.message.prefix(200))")
            return .rejected(reason, row: try writer.row(mutation.key, of: session, db))
        }
    }
}

/// `sync_mutation`: the answers that a device may not have heard, and the positions of its last changes.
enum MutationTable {
    /// Answers of a session at most.
    static let limit: Int64 = 1_000

    /// Removes the refusals that the device has heard, and all but the last answers. A push begins with the first
    /// mutation whose answer the device lacks. Applied ones stay a little longer: later changes of the same row refer
    /// to them.
    static func removeHeard(before sequence: Int64, _ session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            """
            DELETE FROM sync_mutation WHERE sessionID = ?1
                AND (sequence <= ?3 OR (sequence < ?2 AND result NOT LIKE '%"result":"applied"%'))
            """,
            [
                .text(session.id), .integer(sequence),
                .integer(min(session.lastSequence, sequence) - limit + Int64(SyncMutation.limit)),
            ])
    }

    /// - Parameter result: of a refusal the code alone is kept.
    static func add(_ result: SyncMutationResult, _ session: SyncSession, _ db: any SQLConnection) throws {
        var kept = result
        switch result.outcome {
        case .applied: break
        case .conflict: kept.outcome = .conflict(row: nil)
        case .rejected(let failure, _): kept.outcome = .rejected(WireFailure(failure.code, ""), row: nil)
        }
        var bytes: [UInt8] = []
        kept.write(to: &bytes)
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
                .outOfStep,
                "Mutation \(mutation.sequence) was another one, or the device has heard its answer: another device "
                    + "uses this session, or this one was put back from a backup.")
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
