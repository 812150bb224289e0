import LFSSystem
import Synchronization

/// What a round has found so far.
///
/// Owner of it: one mutex.
final class CompanionTally: Sendable {
    struct Findings: Sendable {
        /// What this device has published before; nil when nothing is there, or it cannot be read.
        var own: CompanionState?
        /// Whether something is there that this device has published and that cannot be read.
        var ownIsUnreadable = false
        /// Whether a newer app has published for this device: that is not written over.
        var ownIsNewer = false
        /// Whether everything was removed since the router was opened.
        var isReset = false
        /// Whether another device has published what is too far ahead and later than what is here, unless it is this
        /// clock that is behind.
        var othersAreAhead = false
        /// Whether all that other devices have published was read, now, and could be.
        var isWhole = true
        /// Whether something was not read again, for it was taken before.
        var isPartial = false
        var problems: [CompanionStatus.Problem] = []
        /// Why not all that is here was published, though the rest was.
        var failure: SettingsError?
        /// What others have of keys whose value here is of a clock that was ahead, and counts more.
        var overtaken: [String: FileID] = [:]
        /// What was found in the states of the others.
        var ofOthers = CompanionMerge.Findings()
        /// For the next round.
        var memory: CompanionMemory
    }

    private let findings: Mutex<Findings>

    init(_ memory: CompanionMemory) { findings = Mutex(Findings(memory: memory)) }

    var all: Findings { findings.withLock { $0 } }

    func noteOwn(_ state: CompanionState, version: String?) {
        findings.withLock { findings in
            findings.own = state
            findings.memory.own = version.map { CompanionMemory.Own(version: $0, state: state) }
        }
    }

    func noteUnreadableOwn(isNewer: Bool) {
        findings.withLock { ($0.ownIsUnreadable, $0.ownIsNewer) = (true, isNewer) }
    }

    func noteReset() { findings.withLock { $0.isReset = true } }

    func noteOthersAhead() { findings.withLock { $0.othersAreAhead = true } }

    /// Something of another device cannot be read.
    func noteUnread() { findings.withLock { $0.isWhole = false } }

    /// Something of another device was read before.
    func noteKnown() { findings.withLock { ($0.isWhole, $0.isPartial) = (false, true) } }

    func note(_ failure: SettingsError) { findings.withLock { $0.failure = failure } }

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

    /// Of another device's state.
    ///
    /// - Parameter version: nil for one that is to be read again the next time.
    func add(_ found: CompanionMerge.Findings, of device: String, version: String?) {
        findings.withLock { findings in
            findings.ofOthers.add(found)
            findings.memory.devices[device] = version.map { CompanionMemory.Device(version: $0, findings: found) }
        }
    }

    /// The times of rows become earlier: what was read is to be compared with them again.
    func forget() {
        findings.withLock { findings in
            findings.memory.devices = [:]
            findings.memory.own = nil
        }
    }
}
