import Foundation
import LFSDatabase
import LFSFiles
import LFSSystem

/// A single eviction, or its preview.
struct EvictionRun: Sendable {
    let runner: BackgroundRunner
    let places: FileLocations
    let uses: AccessLog
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
            if let reason { report.addStaying(reason, byteCount: copy.byteCount) } else { candidates.append(copy) }
        }
        let total = candidates.reduce(report.staying.byteCount) { $0 + $1.byteCount }
        let store = places.store
        let available = try await BlockingPool.shared.run { _ in try store.availableByteCount() }
        let excess = policy.excess(byteCount: total, available: available)
        // The id makes the order the same in every run.
        candidates.sort { ($0.lastUse, $0.bits) < ($1.lastUse, $1.bits) }
        var rest = candidates[...]
        while report.evicted.byteCount < excess, !rest.isEmpty {
            let page = Self.takePage(&rest, byteCount: excess - report.evicted.byteCount)
            try await free(page, report: &report)
        }
        for copy in rest { report.addStaying(.fits, byteCount: copy.byteCount) }
        report.shortfall = max(0, excess - report.evicted.byteCount)
        if !isPreview { try await BlockingPool.shared.run { _ in try store.makeSpareRoom() } }
        return report
    }

    /// Writes the recorded uses. On a full disk they cannot be written. The order is then less exact, but eviction
    /// continues.
    private func flushUses() async throws {
        do { try await uses.flush() } catch let error where DiskSpace.isCause(of: error) { return }
    }

    /// Takes the first copies until their sizes reach `byteCount`, at most a page.
    private static func takePage(_ rest: inout ArraySlice<LocalCopy>, byteCount: Int64) -> [LocalCopy] {
        var page: [LocalCopy] = []
        var sum: Int64 = 0
        while sum < byteCount, page.count < Self.page, let copy = rest.popFirst() {
            page.append(copy)
            sum += copy.byteCount
        }
        return page
    }

    private func free(_ page: [LocalCopy], report: inout EvictionReport) async throws {
        var reasons: [FileID: StayReason?] = [:]
        if !isPreview {
            // A copy that was used since the scan must not look unused.
            try await flushUses()
            let copies = Dictionary(page.map { ($0.id, $0.lastUse) }) { first, _ in first }
            reasons = try await remover.remove(copies, policy: policy, passesUsed: true)
        }
        for copy in page {
            if let reason = reasons[copy.id] ?? nil {
                report.addStaying(reason, byteCount: copy.byteCount)
                continue
            }
            report.evicted.add(copy.byteCount)
            let lastUse = Date(millisecondsSince1970: copy.lastUse)
            try await onCopy(EvictedCopy(id: copy.id, byteCount: copy.byteCount, lastUse: lastUse))
        }
    }
}
