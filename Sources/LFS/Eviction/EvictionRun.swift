import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// Evicts once, or tells what would be evicted.
struct EvictionRun: Sendable {
    let runner: BackgroundRunner
    let places: FilePlaces
    let uses: UseLog
    let remover: CopyRemover
    let policy: EvictionPolicy
    let isPreview: Bool
    let onCopy: @Sendable (EvictedCopy) async throws -> Void

    private static let page = 200

    func run() async throws -> EvictionReport {
        try await flushUses()
        var report = EvictionReport()
        var candidates: [LocalCopy] = []
        let rules = EvictionRules(policy: policy, now: remover.wallClock().millisecondsSince1970)
        try await CopyScan(runner: runner, places: places, rules: rules).run { copy, reason in
            if let reason { report.addStaying(reason, copy.byteCount) } else { candidates.append(copy) }
        }
        let total = candidates.reduce(report.staying.byteCount) { $0 + $1.byteCount }
        let store = places.store
        let available = try await BlockingPool.shared.run { _ in try store.availableByteCount() }
        let excess = policy.excess(byteCount: total, available: available)
        // The id makes the order the same in every run.
        candidates.sort { ($0.lastUse, $0.bits) < ($1.lastUse, $1.bits) }
        var rest = candidates[...]
        while report.evicted.byteCount < excess, !rest.isEmpty {
            let page = Self.takePage(&rest, excess - report.evicted.byteCount)
            try await free(page, &report)
        }
        for copy in rest { report.addStaying(.fits, copy.byteCount) }
        report.shortfall = max(0, excess - report.evicted.byteCount)
        if !isPreview { try await BlockingPool.shared.run { _ in try store.makeSpareRoom() } }
        return report
    }

    /// On a full disk the order is less exact, and that is no reason to free nothing.
    private func flushUses() async throws {
        do { try await uses.flush() } catch let error where NoSpace.isCause(of: error) { return }
    }

    /// As many of the first copies as it takes, up to a page.
    private static func takePage(_ rest: inout ArraySlice<LocalCopy>, _ byteCount: Int64) -> [LocalCopy] {
        var page: [LocalCopy] = []
        var sum: Int64 = 0
        while sum < byteCount, page.count < Self.page, let copy = rest.popFirst() {
            page.append(copy)
            sum += copy.byteCount
        }
        return page
    }

    private func free(_ page: [LocalCopy], _ report: inout EvictionReport) async throws {
        var reasons: [FileID: StayReason?] = [:]
        if !isPreview {
            // What was used since the scan must not look unused.
            try await flushUses()
            let copies = Dictionary(page.map { ($0.id, $0.lastUse) }) { first, _ in first }
            reasons = try await remover.remove(copies, policy, passesUsed: true)
        }
        for copy in page {
            if let reason = reasons[copy.id] ?? nil {
                report.addStaying(reason, copy.byteCount)
                continue
            }
            report.evicted.add(copy.byteCount)
            let lastUse = Date(millisecondsSince1970: copy.lastUse)
            try await onCopy(EvictedCopy(id: copy.id, byteCount: copy.byteCount, lastUse: lastUse))
        }
    }
}
