import LFSDatabase
import LFSFiles
import LFSSystem

/// A scan of the local store's folder, page by page, with the decisions of the rules for each copy.
struct CopyScan: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let rules: EvictionRules

    /// - Parameter onCopy: receives each copy, with the reason why it is kept.
    func run(_ onCopy: (LocalCopy, StayReason?) -> Void) async throws {
        let (store, rules) = (places.store, rules)
        try await BlockingPool.shared.run { _ in try store.requireUnchanged() }
        let cursor = try await BlockingPool.shared.run { _ in try store.files() }
        try await cursor.forEachPage { page in
            try Task.checkCancellation()
            if page.isEmpty { return }
            // A name that occurs twice, because files appear and disappear during the scan, is one copy.
            let uses = Dictionary(page.map { ($0.id, Int64(0)) }) { first, _ in first }
            let decisions = try await runner.read { db in try rules.decisions(on: uses, db) }
            for entry in page {
                guard let decision = decisions[entry.id] else { continue }
                let rows = rules.mayGo(decision.reason) ? nil : decision.reason
                let reason = rows ?? (places.inUse.contains(entry.id) ? .inUse : nil)
                onCopy(
                    LocalCopy(bits: entry.id.bits, byteCount: entry.byteCount, lastUse: decision.lastUse), reason)
            }
        }
    }
}
