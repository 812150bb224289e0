import LFSWire
import Logging

extension SyncService {
    /// Applies the mutations of a push. If one of them may have to be refused, they are applied again one by one. If a
    /// push takes too long, it is rolled back. The mutations before the slow one are then applied without it, and the
    /// device sends the rest again. A slow deletion is applied in steps.
    ///
    /// - Returns: the results of the first mutations, at least of one.
    /// - Throws: ``WireFailure/Code/tooSlow`` if the first mutation alone takes too long.
    func applied(
        _ mutations: [SyncMutation], by pushing: MutationApply, token: String, at now: Int64, work: WorkTime
    ) async throws -> [SyncMutationResult] {
        var mutations = mutations[...]
        var isPlain = pushing.isPlain(mutations)
        while true {
            do {
                return try await write(token: token, at: now, work: work) { [mutations, isPlain] held, budget, db in
                    try held.session.rights.requirePush(mutations)
                    if held.session.isDue(at: now) { try SessionTable.see(held.session.id, at: now, db) }
                    return try pushing.apply(mutations, of: held, isPlain: isPlain, within: budget, db)
                }
            } catch let failure as WireFailure where failure.code == .outOfStep {
                try await requireHistory(mutations, token: token, at: now)
                throw failure
            } catch is NotPlain {
                isPlain = false
            } catch let failure as PushTooSlow {
                logger.warning("A push took too long and was ended.", metadata: ["applied": "\(failure.count)"])
                if failure.count > 0 {
                    mutations = mutations.prefix(failure.count)
                } else if let first = mutations.first {
                    try await removeDependents(of: first, by: pushing, token: token, at: now, work: work)
                }
            }
        }
    }

    /// Removes the rows below the row of a deletion that takes too long, so that it takes less.
    ///
    /// - Throws: ``WireFailure/Code/tooSlow`` for another change, and if rows are left when the time is over. The
    ///   device retries the deletion, which continues here.
    private func removeDependents(
        of mutation: SyncMutation, by pushing: MutationApply, token: String, at now: Int64, work: WorkTime
    ) async throws {
        let whole = PushBudget(clock)
        var hasRemoved = false
        while !whole.isOver {
            let count: Int
            do {
                count = try await write(token: token, at: now, work: work) { held, budget, db in
                    try held.session.rights.requirePush([mutation])
                    return try pushing.removeDependents(of: mutation, of: held, within: budget, db)
                }
            } catch let failure as SQLFailure where failure.code == .timeout {
                count = 0
            }
            hasRemoved = hasRemoved || count > 0
            if count == 0 { break }
            if count < DependentRows.step { return }
        }
        throw WireFailure(
            .tooSlow, message: "The server needs more time for this change. The device sends it again.",
            retryAfter: hasRemoved ? 1 : 60)
    }

    /// Writes in a transaction that holds the session. The session is read within the transaction, because two requests
    /// may arrive at the same time. Its scope is locked before the first row is read, because another device of the
    /// account may push the same row.
    private func write<Value: Sendable>(
        token: String, at now: Int64, work: WorkTime,
        _ body: @escaping @Sendable (HeldSession, PushBudget, any SQLConnection) throws -> Value
    ) async throws -> Value {
        try await database.write { [clock] db in
            try work.measure {
                guard let held = try SessionTable.holding(token, at: now, db) else { throw WireFailure.noSession }
                return try body(held, PushBudget(clock), db)
            }
        }
    }

    /// Makes a session start over if a gap before its mutations shows that the store is an older copy. A device numbers
    /// its mutations without gaps. Rows that it has pushed may therefore be missing, and it must keep them.
    ///
    /// A new session has no earlier mutations, so the numbers of an earlier session look like a gap. After a reset, any
    /// number may be the next.
    private func requireHistory(_ mutations: ArraySlice<SyncMutation>, token: String, at now: Int64) async throws {
        guard let first = mutations.first?.sequence else { return }
        try await database.write { db in
            guard let session = try SessionTable.session(ofToken: token, at: now, changing: true, db),
                session.resetReason == nil, session.lastBatch > 0, session.lastSequence >= 0,
                first > session.lastSequence + 1
            else { return }
            try SessionTable.require(.history, of: session.id, db)
        }
    }
}
