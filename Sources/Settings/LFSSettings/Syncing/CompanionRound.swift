import LFSDatabase
import LFSSystem
import Synchronization

/// A sync round. It accepts what other devices have published, and then publishes the state of this device if that has
/// changed.
///
/// If the process is killed at any point, each value is either the old or the new one, and the next round continues.
/// Accepted values are in the database, and the state to publish is derived from it.
///
/// One mutex owns the results.
final class CompanionRound: Sendable {
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
        var ofOthers = Merged()
        var memory: CompanionSnapshot

        mutating func add(_ problem: CompanionStatus.Problem) {
            guard problems.count < CompanionStatus.mostProblems, !problems.contains(problem) else { return }
            problems.append(problem)
        }
    }

    /// An error of a round that cannot compute the state because it has read only some of the other devices' states.
    struct NeedsWhole: Error {}

    let access: ValueAccess
    let deviceID: FileID
    /// The number of removals of all values when the router was opened.
    let resetCount: Int64
    let scope: CompanionScope
    let limit: Int
    private let calls: DeadlineTransport
    /// The states that earlier rounds have read. Nil to read all.
    private let known: CompanionSnapshot?
    private let results: Mutex<Findings>

    /// - Parameter known: the states that earlier rounds have read, or nil to read all.
    init(_ runner: CompanionRunner, includesManual: Bool, known: CompanionSnapshot?) async throws {
        access = runner.access
        deviceID = runner.deviceID
        resetCount = runner.resetCount
        calls = runner.calls
        limit = calls.transport.limits.stateByteCount
        let isReset = try await access.runner.read(SettingsStateTable.read).resetCount != resetCount
        let (hasRootKey, problem) = isReset ? (false, nil) : await Self.loadRootKey(access, deviceID: deviceID)
        let isUsable = known?.isUsable(hasRootKey: hasRootKey, now: access.now()) == true
        self.known = isUsable ? known : nil
        scope = CompanionScope(registry: access.registry, includesManual: includesManual, hasRootKey: hasRootKey)
        let readAt = self.known?.readAt ?? access.now()
        results = Mutex(Findings(memory: CompanionSnapshot(readAt: readAt, hasRootKey: hasRootKey)))
        change { findings in
            findings.isReset = isReset
            if let problem { findings.add(problem) }
        }
    }

    var findings: Findings { results.withLock { $0 } }

    func change(_ body: (inout Findings) -> Void) { results.withLock { body(&$0) } }

    /// - Throws: ``NeedsWhole`` for a round that has not read everything.
    func run() async throws -> Findings {
        if findings.isReset { return try await leave() }
        let query = known?.query(of: deviceID) ?? CompanionQuery(device: deviceID.text)
        try await calls.states(for: query) { reading in
            if !self.findings.isReset { try await self.take(reading) }
        }
        guard !findings.isReset, let state = try await stateToPublish() else { return try await leave() }
        let found = findings
        // A device on which no value was ever set publishes nothing.
        guard !found.ownIsNewer, state != found.own, !state.entries.isEmpty || found.own != nil else { return found }
        if try await isReset() { return try await leave() }
        try await calls.publish(state)
        // All values may have been removed while the state was being published.
        return try await isReset() ? leave() : found
    }

    private func take(_ reading: CompanionReading) async throws {
        let isOwn = reading.device == deviceID.text
        switch reading {
        case .unreadable(let device, let error):
            change { findings in
                findings.add(CompanionStatus.Problem(device: device, key: nil, code: error.code.rawValue))
                if isOwn { findings.ownIsNewer = error.code == .newerValue } else { findings.isWhole = false }
            }
        case .unchanged where isOwn:
            if let own = known?.own { noteOwn(own.state, version: own.version) }
        case .unchanged(let device):
            change { findings in
                findings.isWhole = false
                guard let known = known?.devices[device] else { return }
                findings.isPartial = true
                findings.ofOthers.add(known.merged)
                findings.memory.devices[device] = known
            }
        case .state(let state, let version) where isOwn:
            noteOwn(state, version: version)
            // The state is from before a removal of all values.
            if state.resetCount < resetCount { return }
            // A state with problems is read again in each round, to keep them in the status.
            if try await merge(state, isOwn: true).hasProblems { noteOwn(state, version: nil) }
        case .state(let state, let version):
            let merged = try await merge(state, isOwn: false)
            let version = merged.hasProblems ? nil : version
            change { findings in
                findings.ofOthers.add(merged)
                findings.memory.devices[state.device] = version.map { .init(version: $0, merged: merged) }
            }
        }
    }

    private func noteOwn(_ state: CompanionState, version: String?) {
        change { findings in
            findings.own = state
            findings.memory.own = version.map { .init(version: $0, state: state) }
        }
    }

    func isReset() async throws -> Bool {
        try await access.runner.read(SettingsStateTable.read).resetCount != resetCount
    }

    /// Loads the root key. Without it encrypted keys are skipped, and the other keys are synced.
    private static func loadRootKey(
        _ access: ValueAccess, deviceID: FileID
    ) async -> (isThere: Bool, CompanionStatus.Problem?) {
        let secret = access.registry.all.first { CompanionScope.isShared($0.info) && $0.info.security != .none }
        guard let secret else { return (false, nil) }
        do {
            try await access.ring.load()
            return (true, nil)
        } catch {
            let code = (SettingsError.wrapping(error, key: nil) as? SettingsError)?.code ?? .keyMissing
            return (
                false,
                CompanionStatus.Problem(device: deviceID.text, key: secret.info.publicName, code: code.rawValue)
            )
        }
    }

    // MARK: Withdrawal

    /// An error that ends the search once this device's own state is found.
    private struct Found: Error {}

    /// After a removal of all values this device accepts nothing. It also withdraws its earlier state from the
    /// transport, readable or not.
    func leave() async throws -> Findings {
        let count = try await access.runner.read(SettingsStateTable.read).resetCount
        change { $0.isReset = true }
        let (found, own) = (ResultBox<Bool>(), deviceID.text)
        do {
            try await calls.states(for: CompanionQuery(device: own)) { reading in
                guard reading.device == own else { return }
                if case .state(let state, _) = reading {
                    // A router that was opened since then may already have published a new state.
                    found.put(state.resetCount < count && !state.entries.isEmpty)
                } else {
                    found.put(true)
                }
                throw Found()
            }
        } catch is Found {
            if found.value == true {
                try await calls.publish(CompanionState(deviceID: deviceID, resetCount: count, entries: [:]))
            }
        }
        return findings
    }
}
