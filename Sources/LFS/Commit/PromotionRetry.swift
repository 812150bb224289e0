import Foundation
import LFSStorage

/// When to promote again after it failed: later and later, for a full disk is copied to for nothing each time.
struct PromotionRetry {
    enum Work: Equatable {
        case nothing, all
        case rows([Int64])
    }

    private let backoff: Backoff
    private var failures = 0
    /// Whether files were passed over, so that every staged one has to be looked at.
    private var hasMissed: Bool
    private var notBefore = Date.distantPast
    private var isTrying = false

    /// - Parameters:
    ///   - pollInterval: the first delay; they double up to a minute.
    ///   - hasMissed: whether the opening has passed over files.
    init(pollInterval: Duration, hasMissed: Bool = false) {
        self.hasMissed = hasMissed
        backoff = Backoff(base: pollInterval, cap: max(.seconds(60), pollInterval))
    }

    /// What there is to do after a look at what has been committed.
    mutating func next(_ changes: CommitObserver.Changes, at now: Date) -> Work {
        guard hasMissed else { return changes.isOverflown ? .all : .rows(changes.insertedRows) }
        // A clock that was set back does not hold it up.
        let isFar = notBefore.timeIntervalSince(now) > backoff.cap / .seconds(1)
        isTrying = now >= notBefore || isFar
        return isTrying ? .all : .nothing
    }

    mutating func succeeded() {
        guard isTrying else { return }
        (failures, hasMissed, isTrying) = (0, false, false)
    }

    mutating func failed(at now: Date) {
        failures += 1
        hasMissed = true
        isTrying = false
        notBefore = now + backoff.ceiling(afterFailures: failures) / .seconds(1)
    }
}
