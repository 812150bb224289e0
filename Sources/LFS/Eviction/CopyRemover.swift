import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem
import Synchronization

/// Removes local copies, and nothing that is not proven to be on the storage. Every way to evict ends here.
///
/// Three steps keep it safe. Before them objects are read back that the storage does not vouch for. A durable
/// transaction judges the rows, so that a power cut cannot take back what allows the removal. A second one, alone,
/// judges them again and takes the names away before it ends: whoever deletes a row and inserts it anew, or pins it,
/// comes before that or after it, in this process or another. The bytes go outside of both.
struct CopyRemover: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let readBack: ReadBack
    let wallClock: @Sendable () -> Date

    /// - Parameters:
    ///   - copies: not more than a page of them, with last uses as ``EvictionRules`` takes them.
    ///   - passesUsed: whether copies that this process reads stay.
    /// - Returns: why a copy stays, nil for those that are gone from here.
    func remove(
        _ copies: [FileID: Int64], _ policy: EvictionPolicy, passesUsed: Bool
    ) async throws -> [FileID: StayReason?] {
        let rules = EvictionRules(policy: policy, now: wallClock().millisecondsSince1970)
        try await prove(copies, rules)
        let first = try await NoSpace.withSpareRoom(of: places.store) {
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
        // What has no name any more goes, whatever became of the rest.
        try await BlockingPool.shared.run { _ in
            let removals = taken.names.withLock { $0 }.map { name in
                Result { try places.store.removeSetAside(name) }
            }
            for removal in removals { try removal.get() }
        }
        return first.mapValues(\.reason).merging(try second.get()) { _, new in new }
    }

    /// Reads back what would go but for the proof of its object. What cannot be read now stays unproven, and the first
    /// such answer ends it: a storage that is away is not asked for each file.
    private func prove(_ copies: [FileID: Int64], _ rules: EvictionRules) async throws {
        if rules.policy.unproven != .readBack { return }
        let files = try await runner.read { db in
            let doubtful = try rules.decisions(on: copies, db).filter { $0.value.reason == .unproven }.map(\.key)
            return try FileTable.rows(doubtful, db)
        }
        // One that cannot be read stays unproven.
        for file in files.compactMap(\.readable) {
            // Another process may have evicted it: there is nothing to free, and no reason to fetch its object.
            let places = places
            guard try await BlockingPool.shared.run({ _ in try places.contains(file.id) }) else { continue }
            if case .unread = try await readBack.run(file).outcome { return }
        }
    }
}

/// The names that set-aside copies have until their bytes are removed.
private final class TakenNames: Sendable {
    let names = Mutex<[String]>([])
}
