import LFSSystem
import Synchronization

/// The intermediate results of a sync round.
///
/// One mutex owns them.
final class CompanionAccumulator: Sendable {
    struct Findings: Sendable {
        /// The last state that this device published. Nil if it does not exist or cannot be read.
        var own: CompanionState?
        /// True if a newer app has published for this device. That state is not overwritten.
        var ownIsNewer = false
        /// True if all values were removed since the router was opened.
        var isReset = false
        /// True if another device has published an entry that is too far ahead and later than the local one. If it is
        /// this device's clock that is behind, the others are right.
        var othersAreAhead = false
        /// True if the states of all other devices were read in this round.
        var isWhole = true
        /// True if some state was not read again because an earlier round had accepted it.
        var isPartial = false
        var problems: [CompanionStatus.Problem] = []
        /// The reason why some values were not published although the others were.
        var failure: SettingsError?
        /// The ids of other devices' entries that lose to a local value from a clock that was ahead.
        var overtaken: [String: FileID] = [:]
        /// The results from the states of the other devices.
        var ofOthers = CompanionMerge.Findings()
        /// The memory for the next round.
        var memory: CompanionSnapshot
    }

    private let findings: Mutex<Findings>

    init(_ memory: CompanionSnapshot) { findings = Mutex(Findings(memory: memory)) }

    var all: Findings { findings.withLock { $0 } }

    func change(_ body: (inout Findings) -> Void) { findings.withLock { body(&$0) } }

    func noteOwn(_ state: CompanionState, version: String?) {
        findings.withLock { findings in
            findings.own = state
            findings.memory.own = version.map { CompanionSnapshot.Own(version: $0, state: state) }
        }
    }

    func add(_ problem: CompanionStatus.Problem) {
        findings.withLock { findings in
            if findings.problems.count < CompanionStatus.mostProblems, !findings.problems.contains(problem) {
                findings.problems.append(problem)
            }
        }
    }

    /// Adds the results from the state of another device.
    ///
    /// - Parameter version: the version of the state, or nil to read it again in the next round.
    func add(_ found: CompanionMerge.Findings, of device: String, version: String?) {
        findings.withLock { findings in
            findings.ofOthers.add(found)
            findings.memory.devices[device] = version.map { CompanionSnapshot.Device(version: $0, findings: found) }
        }
    }
}
