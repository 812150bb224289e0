import LFSWire
import Logging

extension SyncService {
    /// Applies the mutations of a push. If one of them may have to be refused, they are applied again one by one. If a
    /// push takes too long, it is rolled back. The mutations before the slow one
    /// are then applied without it, and the device sends the rest again.
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
                return try await database.write { [mutations, isPlain, clock] db in
                    try work.measure {
                        // The session is read within the transaction, because two requests may arrive at the same time.
                        // Its scope is locked before the first row is read, because another device of the account may
                        // push the same row.
                        guard let held = try SessionTable.holding(token, at: now, db) else {
                            throw WireFailure.noSession
                        }
                        try held.session.rights.requirePush(mutations)
                        if held.session.isDue(at: now) { try SessionTable.see(held.session.id, at: now, db) }
                        return try pushing.apply(
                            mutations, of: held, isPlain: isPlain, within: PushBudget(clock), db)
                    }
                }
            } catch let failure as WireFailure where failure.code == .outOfStep {
                try await requireHistory(mutations, token: token, at: now)
                throw failure
            } catch is NotPlain {
                isPlain = false
            } catch let failure as PushTooSlow {
                logger.warning("A push took too long and was ended.", metadata: ["applied": "\(failure.count)"])
                guard failure.count > 0 else {
                    throw WireFailure(
                        .tooSlow, message: "The change takes the server too long. It is retried.", retryAfter: 60)
                }
                mutations = mutations.prefix(failure.count)
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
