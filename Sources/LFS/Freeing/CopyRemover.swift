import Foundation
import LFSFiles
import LFSSystem

/// Removes local copies, and nothing that is not proven to be on the storage. Every way to free space ends here.
///
/// Three steps keep it safe. A durable transaction judges the rows, so that a power cut cannot take back what allows the
/// removal. A second one judges them again and takes the names away before it ends: whoever deletes a row and inserts it
/// anew, or pins it, comes before that or after it, in this process or another. The bytes go outside of both.
struct CopyRemover: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let wallClock: @Sendable () -> Date

    /// - Parameters:
    ///   - copies: not more than a page of them, with last uses as ``CopyJudge`` takes them.
    ///   - passesUsed: whether copies that this process reads stay.
    /// - Returns: why a copy stays, nil for those that are gone from here.
    func remove(
        _ copies: [FileID: Int64], _ policy: FreeingPolicy, passesUsed: Bool
    ) async throws -> [FileID: StayReason?] {
        let judge = CopyJudge(policy: policy, now: wallClock().millisecondsSince1970)
        let first = try await runner.writeDurably { db in try judge.verdicts(on: copies, db) }
        let allowed = copies.filter { first[$0.key]?.reason == nil }
        if allowed.isEmpty { return first.mapValues(\.reason) }
        let places = places
        let second = try await runner.write { db in
            // It takes names away, which is quick and may be done twice.
            try judge.verdicts(on: allowed, db).map { id, verdict -> Taken in
                if verdict.reason == nil, passesUsed, places.inUse.contains(id) { return Taken(id: id, reason: .inUse) }
                if let reason = verdict.reason { return Taken(id: id, reason: reason) }
                return Taken(id: id, name: try places.setAside(id))
            }
        }
        try await BlockingPool.shared.run { _ in
            for name in second.compactMap(\.name) { try places.store.removeSetAside(name) }
        }
        return first.mapValues(\.reason).merging(second.map { ($0.id, $0.reason) }) { _, new in new }
    }

    private struct Taken: Sendable {
        var id: FileID
        var reason: StayReason?
        /// Under which its bytes still are; nil when there are none.
        var name: String?
    }
}
