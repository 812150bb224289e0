import LFSWire

/// A writer that applies the changes of a device in their order, within one transaction. Each mutation is applied
/// completely or not at all. Its answer is kept until the device has received it, so a repeated mutation gets the same
/// answer.
struct MutationApply: Sendable {
    let schema: CheckedSchema
    let dialect: SQLDialect
    /// The numbers of mutations that report a file as uploaded although the storage does not have it.
    var withoutObject: Set<Int64> = []
    /// The time from which the objects of files deleted now are removed, in milliseconds since 1970. Nil if the server
    /// removes no objects.
    var removesAt: Int64?
    /// The policies by table name. All other tables use ``SyncConflictPolicy/lastWriterWins``.
    var conflicts: [String: SyncConflictPolicy] = [:]
    /// The quota of accounts without a quota of their own.
    var quota = AccountQuota()
    /// The bytes of all mutations as JSON.
    var byteCount = 0

    /// Applies mutations.
    ///
    /// - Parameters:
    ///   - held: the session, whose row and scope are locked.
    ///   - isPlain: true to write new rows together and without savepoints, which is possible if nothing is refused.
    /// - Returns: the results of the first mutations. If the answers are long or the time is over, the device sends the
    ///   others again.
    /// - Throws: ``WireFailure/Code/outOfStep`` for a gap or for another mutation with a number that is in use,
    ///   ``PushTooSlow`` if a mutation did not end in time, and ``NotPlain`` if the mutations have to be applied one by
    ///   one.
    func apply(
        _ mutations: ArraySlice<SyncMutation>, of held: HeldSession, isPlain: Bool, within budget: PushBudget,
        _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        let session = held.session
        let growth = AccountUsage.most(of: mutations, byteCount: byteCount, schema: schema)
        let check = QuotaCheck(of: held, growth: growth, quota: quota, schema: schema)
        return try db.limited(to: PushBudget.hard, until: { budget.isOver }) {
            try check.deletions.apply(to: check.own, rows: held.usage.rows, deletions: held.deletions, db)
            if isPlain, check.fits {
                return try applyTogether(mutations, of: held, check: check, within: budget, db)
            }
            if let first = mutations.first { try MutationTable.removeHeard(before: first.sequence, session, db) }
            return try applyEach(of: mutations, of: session, check: check, within: budget, db)
        }
    }

    /// Removes some of the rows below the row of a deletion that takes too long.
    ///
    /// - Parameter held: the session, whose row and scope are locked.
    /// - Returns: their number. Zero for another change, for a deletion that is refused, or if none is left.
    /// - Throws: `SQLFailure`.
    func removeDependents(
        of mutation: SyncMutation, of held: HeldSession, within budget: PushBudget, _ db: any SQLConnection
    ) throws -> Int {
        let check = QuotaCheck(of: held, growth: AccountUsage(), quota: quota, schema: schema)
        guard mutation.operation == .delete, let writer = writer(of: mutation, check: check) else { return 0 }
        return try db.limited(to: PushBudget.hard, until: { budget.isOver }) {
            try writer.removeDependents(of: mutation, held.session, schema: schema, db)
        }
    }

    /// Returns true if mutations may be applied without savepoints. A change that may conflict needs the answers of the
    /// mutations before it.
    func isPlain(_ mutations: ArraySlice<SyncMutation>) -> Bool {
        mutations.allSatisfy { mutation in
            guard let table = schema.table(of: mutation.type) else { return false }
            return mutation.operation == .put || mutation.seen == nil || conflicts[table.name]?.isCareful != true
        }
    }

    private func applyTogether(
        _ mutations: ArraySlice<SyncMutation>, of held: HeldSession, check: QuotaCheck, within budget: PushBudget,
        _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        let session = held.session
        var outcomes: [SyncMutationResult.Outcome] = []
        var last = session.lastSequence
        var new = NewRows(of: held)
        var writers: [SyncType: RowWriter] = [:]
        do {
            for mutation in mutations where outcomes.isEmpty || !budget.isSpent {
                guard mutation.sequence > last,
                    let writer = writers[mutation.type] ?? writer(of: mutation, check: check)
                else {
                    throw NotPlain()
                }
                try requireNext(mutation, after: last)
                writers[mutation.type] = writer
                last = mutation.sequence
                outcomes.append(.applied(nil))
                if new.add(mutation, at: outcomes.count - 1, writer: writer) { continue }
                try insert(&new, outcomes: &outcomes, within: budget, db)
                outcomes[outcomes.count - 1] = try writer.apply(mutation, of: session, db)
                if budget.isOver { throw PushTooSlow(count: outcomes.count - 1) }
            }
            try insert(&new, outcomes: &outcomes, within: budget, db)
        } catch let failure as SQLFailure where failure.code == .timeout && mutations.count == 1 {
            // It would take as long again.
            throw PushTooSlow(count: 0)
        } catch let failure as SQLFailure where [.constraint, .invalidValue, .timeout].contains(failure.code) {
            throw NotPlain()
        } catch let failure as WireFailure where failure.code != .outOfStep {
            throw NotPlain()
        }
        let results = zip(mutations, outcomes).map { mutation, outcome in
            SyncMutationResult(id: mutation.id, sequence: mutation.sequence, outcome)
        }
        try MutationTable.add(results, session: session, hasRefusal: held.hasRefusal, db)
        return results
    }

    private func insert(
        _ new: inout NewRows, outcomes: inout [SyncMutationResult.Outcome], within budget: PushBudget,
        _ db: any SQLConnection
    ) throws {
        let count = new.count
        guard count > 0 else { return }
        try new.insert(schema: schema, outcomes: &outcomes, db)
        guard budget.isOver else { return }
        // Applied one by one, the first of them may end in time.
        if count > 1 { throw NotPlain() }
        throw PushTooSlow(count: 0)
    }

    private func requireNext(_ mutation: SyncMutation, after last: Int64) throws(WireFailure) {
        guard last < 0 || mutation.sequence == last + 1 else {
            throw WireFailure(
                .outOfStep,
                message: "Mutation \(mutation.sequence) arrived, but \(last + 1) is the next. Some are missing.")
        }
    }

    private func applyEach(
        of mutations: ArraySlice<SyncMutation>, of session: SyncSession, check: QuotaCheck, within budget: PushBudget,
        _ db: any SQLConnection
    ) throws -> [SyncMutationResult] {
        var results: [SyncMutationResult] = []
        var last = session.lastSequence
        var byteCount = 0
        // A refusal contains a row, which may be much longer than the refused mutation. The device sends the rest
        // again.
        for mutation in mutations where byteCount < SyncMutation.byteLimit && (results.isEmpty || !budget.isSpent) {
            if mutation.sequence <= last {
                var result = try MutationTable.result(of: mutation, session, db)
                result.outcome = try completed(
                    result.outcome, of: mutation, session: session, check: check, db)
                results.append(result)
                byteCount += results[results.count - 1].byteCount
                continue
            }
            try requireNext(mutation, after: last)
            let outcome: SyncMutationResult.Outcome
            do {
                outcome = try self.outcome(of: mutation, session, check: check, db)
            } catch let failure as SQLFailure where failure.code == .timeout {
                throw PushTooSlow(count: results.count)
            }
            if budget.isOver { throw PushTooSlow(count: results.count) }
            let result = SyncMutationResult(id: mutation.id, sequence: mutation.sequence, outcome)
            try MutationTable.add(result, session: session, db)
            results.append(result)
            byteCount += result.byteCount
            last = mutation.sequence
        }
        try db.execute(
            "UPDATE sync_session SET lastSequence = ?2 WHERE id = ?1", arguments: [.text(session.id), .integer(last)])
        return results
    }

    private func writer(of mutation: SyncMutation, check: QuotaCheck) -> RowWriter? {
        guard let table = schema.table(of: mutation.type) else { return nil }
        let columns = table.versions[mutation.type.version - 1]
        return RowWriter(
            sql: TableSQL(table: table, dialect: dialect), columns: columns, version: mutation.type.version,
            rights: RowAuthorization(schema: schema, table: table),
            files: table.name == SyncType.fileTable
                ? FileRules(withoutObject: withoutObject, removesAt: removesAt, check: check) : nil,
            policy: conflicts[table.name] ?? .lastWriterWins, check: check)
    }

    /// Completes a repeated answer. A refusal was stored as a code only, and its row is the current one.
    private func completed(
        _ outcome: SyncMutationResult.Outcome, of mutation: SyncMutation, session: SyncSession, check: QuotaCheck,
        _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        let row = { try writer(of: mutation, check: check)?.row(mutation.key, of: session, db) }
        switch outcome {
        case .applied: return outcome
        case .conflict: return .conflict(row: try row())
        case .rejected(let failure, _):
            var again = WireFailure(
                failure.code, message: "The server has refused this change before (\(failure.code)).")
            again.exceeded = failure.exceeded
            return .rejected(again, row: try row())
        }
    }

    private func outcome(
        of mutation: SyncMutation, _ session: SyncSession, check: QuotaCheck, _ db: any SQLConnection
    ) throws -> SyncMutationResult.Outcome {
        guard let writer = writer(of: mutation, check: check) else {
            return .rejected(WireFailure(.unknownType, message: "The server has no '\(mutation.type)'."), row: nil)
        }
        do {
            return try db.savepoint { try writer.apply(mutation, of: session, db) }
        } catch let failure as WireFailure {
            return .rejected(failure, row: try writer.row(mutation.key, of: session, db))
        } catch let failure as SQLFailure where failure.code == .constraint || failure.code == .invalidValue {
            let name = writer.sql.table.name
            let reason = WireFailure(
                .invalidRequest, message: "The table '\(name)' does not accept the row: \(failure.message.prefix(200))")
            return .rejected(reason, row: try writer.row(mutation.key, of: session, db))
        }
    }
}

/// The table `sync_mutation` of answers that a device may not have received, and of the positions of its latest
/// changes.
enum MutationTable {
    /// The maximum number of answers of a session.
    static let limit: Int64 = 1_000

    /// Removes the refusals that the device has received, and all but the latest answers. A push starts with the first
    /// mutation whose answer the device lacks. Answers to applied mutations are kept a little longer, because later
    /// changes of the same row refer to them.
    static func removeHeard(before sequence: Int64, _ session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            """
            DELETE FROM sync_mutation WHERE sessionID = ?1
                AND (sequence <= ?3 OR (sequence < ?2 AND result NOT LIKE '%"result":"applied"%'))
            """,
            arguments: [
                .text(session.id), .integer(sequence),
                .integer(min(session.lastSequence, sequence) - limit + Int64(SyncMutation.limit)),
            ])
    }

    /// Stores an answer.
    ///
    /// - Parameter result: the answer. A refusal is stored as a code only.
    static func add(_ result: SyncMutationResult, session: SyncSession, _ db: any SQLConnection) throws {
        try db.execute(
            "INSERT INTO sync_mutation (sessionID, sequence, id, result) VALUES (?1, ?2, ?3, ?4)",
            arguments: [
                .text(session.id), .integer(result.sequence), .text(result.id), .text(text(of: result)),
            ])
    }

    private static func text(of result: SyncMutationResult) -> String {
        var kept = result
        switch result.outcome {
        case .applied: break
        case .conflict: kept.outcome = .conflict(row: nil)
        case .rejected(let failure, _):
            var code = WireFailure(failure.code, message: "")
            code.exceeded = failure.exceeded
            kept.outcome = .rejected(code, row: nil)
        }
        var bytes: [UInt8] = []
        kept.write(to: &bytes)
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }

    /// Stores the answers to new mutations and the number of the last one, and removes what the device has received.
    ///
    /// Old answers are removed after a refusal and after each hundred mutations, because the search for them costs more
    /// than the push of one row.
    ///
    /// - Parameter hasRefusal: true if the latest answer before these is a refusal.
    static func add(
        _ results: [SyncMutationResult], session: SyncSession, hasRefusal: Bool, _ db: any SQLConnection
    ) throws {
        guard let first = results.first?.sequence, let last = results.last?.sequence else { return }
        if hasRefusal || session.lastSequence < 0 || session.lastSequence / 100 != last / 100 {
            try removeHeard(before: first, session, db)
        }
        let arguments: [SQLValue] = [.text(session.id), .integer(last)]
        let columns = [
            SQLColumn(.integer, values: results.map { .integer($0.sequence) }),
            SQLColumn(.text, values: results.map { .text($0.id) }),
            SQLColumn(.text, values: results.map { .text(text(of: $0)) }),
        ]
        let note = "UPDATE sync_session SET lastSequence = ?2 WHERE id = ?1"
        let insert = "INSERT INTO sync_mutation (sessionID, sequence, id, result)"
        switch db.dialect {
        case .sqlite:
            try db.execute(note, arguments: arguments)
            try db.query(
                "\(insert) VALUES (?1, ?2, ?3, ?4)", arguments: [arguments[0]], columns: columns
            ) { _ in }
        case .postgres:
            try db.query(
                """
                WITH session AS (\(note))
                \(insert) SELECT ?1, n.s, n.i, n.r FROM unnest(?3::bigint[], ?4::text[], ?5::text[]) AS n(s, i, r)
                """, arguments: arguments, columns: columns
            ) { _ in }
        }
    }

    /// Returns the position that an earlier mutation of a session has given to its row. Nil for a mutation that was
    /// refused or is no longer known.
    static func position(
        of sequence: Int64, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncPosition? {
        var found: SyncPosition?
        try db.query(
            "SELECT result FROM sync_mutation WHERE sessionID = ?1 AND sequence = ?2",
            arguments: [.text(session.id), .integer(sequence)]
        ) { row in
            if case .applied(let position)? = try row.withBytes(0, { try SyncMutationResult($0).outcome }) {
                found = position
            }
            return false
        }
        return found
    }

    /// Returns the answer to a repeated mutation.
    ///
    /// - Throws: ``WireFailure/Code/outOfStep`` if another mutation had its number.
    static func result(
        of mutation: SyncMutation, _ session: SyncSession, _ db: any SQLConnection
    ) throws -> SyncMutationResult {
        var found: SyncMutationResult?
        try db.query(
            "SELECT result FROM sync_mutation WHERE sessionID = ?1 AND sequence = ?2",
            arguments: [.text(session.id), .integer(mutation.sequence)]
        ) { row in
            found = try row.withBytes(0) { try SyncMutationResult($0) }
            return false
        }
        guard let found, found.id == mutation.id else {
            throw WireFailure(
                .outOfStep,
                message: """
                    Mutation \(mutation.sequence) was a different one, or the device has received its answer. Another \
                    device uses this session, or this device was restored from a backup.
                    """)
        }
        return found
    }
}

extension SyncMutationResult {
    /// The length of the answer's line in bytes, which is estimated for an answer without a row.
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
