import LFSSystem
import Synchronization

/// What a round has found so far.
///
/// Owner of it: one mutex.
final class CompanionTally: Sendable {
    struct Findings: Sendable {
        /// What this device has published before; nil when nothing is there, or it cannot be read.
        var own: CompanionState?
        /// Whether a newer app has published for this device: that is not written over.
        var ownIsNewer = false
        /// Whether everything was removed since the router was opened.
        var isReset = false
        /// Whether another device has published what is too far ahead, unless it is this clock that is behind.
        var othersAreAhead = false
        var problems: [CompanionStatus.Problem] = []
        var unknownCount = 0
        /// What others have of keys whose value here is of a clock that was ahead, and counts more.
        var overtaken: [String: FileID] = [:]
    }

    private let findings = Mutex(Findings())

    var all: Findings { findings.withLock { $0 } }

    func noteOwn(_ state: CompanionState) { findings.withLock { $0.own = state } }
    func noteNewerOwn() { findings.withLock { $0.ownIsNewer = true } }
    func noteReset() { findings.withLock { $0.isReset = true } }

    func noteOthersAhead() { findings.withLock { $0.othersAreAhead = true } }

    func add(_ problem: CompanionStatus.Problem) {
        findings.withLock { findings in
            if findings.problems.count < CompanionStatus.mostProblems, !findings.problems.contains(problem) {
                findings.problems.append(problem)
            }
        }
    }

    func noteOvertaken(_ ids: [String: FileID]) {
        findings.withLock { $0.overtaken.merge(ids) { max($0, $1) } }
    }

    func addUnknown(_ count: Int) { findings.withLock { $0.unknownCount += count } }
}
