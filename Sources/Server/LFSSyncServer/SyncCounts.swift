import LFSWire

/// The numbers of requests and changes since the start of a ``SyncService``, for metrics.
public struct SyncCounts: Sendable, Hashable {
    /// The number of pushes whose mutations were answered.
    public var pushes = 0
    /// The number of applied mutations, including those that changed nothing.
    public var applied = 0
    /// The number of mutations that were not applied, because the row had changed in the meantime.
    public var conflicts = 0
    /// The number of mutations that were refused.
    public var rejected = 0
    /// The number of requests above the rate limit.
    public var throttled = 0

    /// Creates counts of zero.
    public init() {}

    /// Counts an answered push.
    mutating func add(_ results: [SyncMutationResult]) {
        pushes += 1
        for result in results {
            switch result.outcome {
            case .applied: applied += 1
            case .conflict: conflicts += 1
            case .rejected: rejected += 1
            }
        }
    }
}
