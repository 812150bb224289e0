import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// A remover of local copies whose files are on the storage. Every eviction uses it.
///
/// Three steps keep it safe. First it reads back the objects whose bytes the storage does not confirm, if the policy
/// asks for it. Then a durable transaction checks the rows, so that a power failure cannot undo what permits the
/// removal. A second transaction runs alone. It checks the rows again and removes the names before it ends. So a pin,
/// or a deletion and new insertion of a row, comes either before it or after it, in any process. The bytes are removed
/// outside of both transactions.
struct CopyRemover: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let readBack: ObjectVerifier
    let wallClock: @Sendable () -> Date

    /// - Parameters:
    ///   - copies: at most a page of copies, with last uses in the form that ``EvictionRules`` expects.
    ///   - passesUsed: whether copies that this process reads are kept.
    /// - Returns: the reason why a copy is kept. Nil for evicted copies.
    func remove(
        _ copies: [FileID: Int64], policy: EvictionPolicy, passesUsed: Bool
    ) async throws -> [FileID: StayReason?] {
        let rules = EvictionRules(policy: policy, now: wallClock().millisecondsSince1970)
        try await prove(copies, rules: rules)
        let first = try await DiskSpace.withReserve(of: places.store) {
            try await runner.writeDurably { db in try rules.decisions(on: copies, db) }
        }
        let allowed = copies.filter { first[$0.key]?.reason == nil }
        if allowed.isEmpty { return first.mapValues(\.reason) }
        let (places, taken) = (places, TakenNames())
        let second = await Result.catching {
            try await runner.writeAlone { db in
                try rules.decisions(on: allowed, db).map { id, decision -> (FileID, StayReason?) in
                    if let reason = decision.reason { return (id, reason) }
                    if passesUsed, places.inUse.contains(id) { return (id, .inUse) }
                    if let name = try places.setAside(id) { taken.names.withLock { $0.append(name) } }
                    return (id, nil)
                }
            }
        }
        // Copies without a name are removed in any case, also after an error.
        try await BlockingPool.shared.run { _ in
            let removals = taken.names.withLock { $0 }.map { name in
                Result { try places.store.removeSetAside(name) }
            }
            for removal in removals { try removal.get() }
        }
        return first.mapValues(\.reason).merging(try second.get()) { _, new in new }
    }

    /// Reads back the objects of copies that could be evicted except for the missing proof. An object that cannot be
    /// read stays unproven. The first such failure ends the reading, so that an unreachable storage is not asked for
    /// every file.
    private func prove(_ copies: [FileID: Int64], rules: EvictionRules) async throws {
        if rules.policy.unproven != .readBack { return }
        let files = try await runner.read { db in
            let doubtful = try rules.decisions(on: copies, db).filter { $0.value.reason == .unproven }.map(\.key)
            return try FileTable.rows(doubtful, db)
        }
        // A row that cannot be read stays unproven.
        for file in files.compactMap(\.readable) {
            // Another process may have evicted the copy. Then no space can be freed, and its object need not be
            // downloaded.
            let places = places
            guard try await BlockingPool.shared.run({ _ in try places.contains(file.id) }) else { continue }
            if case .unread = try await readBack.run(file).outcome { return }
        }
    }
}

/// The names of set-aside copies, until their bytes are removed.
private final class TakenNames: Sendable {
    let names = Mutex<[String]>([])
}
