import Synchronization

/// A counter of the rows that one synchronization has sent and received. Owner of the counts: the mutex.
final class SyncProgress: Sendable {
    private let counts = Mutex(SyncReport())
    private let onProgress: @Sendable (SyncReport) -> Void

    init(_ onProgress: @escaping @Sendable (SyncReport) -> Void = { _ in }) { self.onProgress = onProgress }

    /// The numbers of rows sent and received so far. The other counts are zero.
    var report: SyncReport { counts.withLock { $0 } }

    func sent(_ count: Int) { add(count, to: \.sent) }
    func received(_ count: Int) { add(count, to: \.received) }

    private func add(_ count: Int, to member: WritableKeyPath<SyncReport, Int>) {
        guard count > 0 else { return }
        let report = counts.withLock { report in
            report[keyPath: member] += count
            return report
        }
        onProgress(report)
    }
}
