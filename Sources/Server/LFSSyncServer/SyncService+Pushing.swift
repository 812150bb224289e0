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
        _ mutations: [SyncMutation], by pushing: MutationApply, token: String, at now: Int64
    ) async throws -> [SyncMutationResult] {
        var mutations = mutations[...]
        var isPlain = pushing.isPlain(mutations)
        while true {
            do {
                return try await database.write { [mutations, isPlain, clock] db in
                    // The session is read within the transaction, because two requests may arrive at the same time.
                    // Its scope is locked before the first row is read, because another device of the account may push
                    // the same row.
                    guard let held = try SessionTable.holding(token, at: now, db) else {
                        throw WireFailure.noSession
                    }
                    try held.session.rights.requirePush(mutations)
                    if held.session.isDue(at: now) { try SessionTable.see(held.session.id, at: now, db) }
                    return try pushing.apply(
                        mutations, of: held, isPlain: isPlain, within: PushBudget(clock), db)
                }
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
}
