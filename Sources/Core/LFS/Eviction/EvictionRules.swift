import GRDB
import LFSDatabase
import LFSSystem

/// The decision about a local copy, from its row.
struct EvictionDecision: Sendable {
    /// Milliseconds since 1970.
    var lastUse: Int64
    /// The reason why the copy is kept. Nil when it may be evicted.
    var reason: StayReason?
}

/// The rules for the local copies that may be evicted, by rows and policy alone. Every eviction uses them.
struct EvictionRules: Sendable {
    let policy: EvictionPolicy
    /// Milliseconds since 1970.
    let now: Int64

    /// - Parameter uses: the copies, with last uses that may not be in the table yet. 0 for none.
    func decisions(on uses: [FileID: Int64], _ db: Database) throws -> [FileID: EvictionDecision] {
        let named = try named(uses.keys, db)
        var decisions = uses.mapValues { EvictionDecision(lastUse: $0, reason: .orphaned) }
        for copy in try CopyTable.facts(of: uses.keys, db) {
            guard let use = uses[copy.id] else { continue }
            // A time in the future was recorded before the clock was set back.
            let lastUse = min(max(use, copy.lastUse ?? 0, copy.made), now)
            let reason = reason(copy, isNamed: named.contains(copy.id), lastUse: lastUse)
            decisions[copy.id] = EvictionDecision(lastUse: lastUse, reason: reason)
        }
        return decisions
    }

    private func reason(_ copy: CopyFacts, isNamed: Bool, lastUse: Int64) -> StayReason? {
        guard copy.isUploaded else { return .notUploaded }
        if copy.isPinned { return .pinned }
        if isNamed { return .named }
        if policy.keeps(contentType: copy.contentType) { return .contentType }
        if let time = policy.keepsUsedWithin, lastUse > now - time.milliseconds { return .recentlyUsed }
        if policy.unproven != .evict, !copy.isProven { return .unproven }
        return nil
    }

    /// Returns whether a copy may be evicted now, or after its object was read back.
    func mayGo(_ reason: StayReason?) -> Bool { reason == nil || (reason == .unproven && policy.unproven == .readBack) }

    /// Returns the ids that a request of the policy matches.
    private func named(_ ids: some Collection<FileID>, _ db: Database) throws -> Set<FileID> {
        var named: Set<FileID> = []
        for request in policy.requests {
            let kept = request().select(FileData.Columns.id).contains(FileData.Columns.id)
            let found = FileData.filter(ids.contains(FileData.Columns.id)).filter(kept)
            named.formUnion(try FileID.fetchSet(db, found.select(FileData.Columns.id)))
        }
        return named
    }
}
