import Foundation
import LFSStorage

/// The schedule for retrying a failed promotion. The delays grow, because each attempt on a full disk copies in vain.
struct PromotionRetry {
    enum Action: Equatable {
        case nothing, all
        case rows([Int64])
    }

    private let backoff: Backoff
    private var failures = 0
    /// True if files were skipped, so that all staged files have to be checked.
    private(set) var hasMissed: Bool
    private var notBefore = Date.distantPast
    private var isTrying = false

    /// - Parameters:
    ///   - retryInterval: the first delay. The delays double up to a minute.
    ///   - hasMissed: true if the opening has skipped files.
    init(retryInterval: Duration, hasMissed: Bool = false) {
        self.hasMissed = hasMissed
        backoff = Backoff(base: retryInterval, cap: max(.seconds(60), retryInterval))
    }

    /// Returns the work to do after new changes were committed.
    mutating func next(_ changes: CommitObserver.Changes, at now: Date) -> Action {
        guard hasMissed else { return changes.isOverflown ? .all : .rows(changes.insertedRows) }
        // A clock that was set back does not delay it.
        let isFar = notBefore.timeIntervalSince(now) > backoff.cap / .seconds(1)
        isTrying = now >= notBefore || isFar
        return isTrying ? .all : .nothing
    }

    mutating func succeeded() {
        guard isTrying else { return }
        failures = 0
        hasMissed = false
        isTrying = false
    }

    mutating func failed(at now: Date) {
        failures += 1
        hasMissed = true
        isTrying = false
        notBefore = now + backoff.ceiling(afterFailures: failures) / .seconds(1)
    }
}
