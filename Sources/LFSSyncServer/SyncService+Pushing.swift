import LFSWire
import Logging

extension SyncService {
    /// Applies the mutations of a push. One that takes too long is rolled back, and those before the slow mutation are
    /// applied without it: the device sends the rest again.
    ///
    /// - Returns: the results of the first mutations, at least of one.
    /// - Throws: ``WireFailure/Code/tooSlow`` when the first mutation alone takes too long.
    func applied(
        _ mutations: [SyncMutation], by pushing: MutationApply, token: String?, at now: Int64
    ) async throws -> [SyncMutationResult] {
        var mutations = mutations[...]
        while true {
            do {
                return try await database.write { [mutations, clock] db in
                    // The session as it is within the transaction: two requests may come at once.
                    guard let token, let session = try SessionTable.session(ofToken: token, at: now, changing: true, db)
                    else {
                        throw WireFailure(.unauthorized, "The session has ended.")
                    }
                    return try pushing.apply(mutations, of: session, within: PushBudget(clock), db)
                }
            } catch let failure as PushTooSlow {
                logger.warning("A push took too long and was ended.", metadata: ["applied": "\(failure.count)"])
                guard failure.count > 0 else {
                    throw WireFailure(
                        .tooSlow, "The change takes the server too long. It is tried again.", retryAfter: 60)
                }
                mutations = mutations.prefix(failure.count)
            }
        }
    }
}
