import LFSDatabase
import LFSFiles
import LFSSystem

/// Reads the folder of the local store page by page, and what the rows say of it.
struct CopyScan: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let rules: EvictionRules

    /// - Parameter onCopy: takes each copy, with why it stays.
    func run(_ onCopy: (LocalCopy, StayReason?) -> Void) async throws {
        let (store, rules) = (places.store, rules)
        try await BlockingPool.shared.run { _ in try store.requireUnchanged() }
        let cursor = try await BlockingPool.shared.run { _ in try store.files() }
        try await cursor.forEachPage { page in
            try Task.checkCancellation()
            if page.isEmpty { return }
            // A name that comes twice, because files come and go meanwhile, is one copy.
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
