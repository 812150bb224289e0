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
        /// True if the states of all other devices can be read.
        var isWhole = true
        var problems: [CompanionStatus.Problem] = []
        /// The reason why some values were not published although the others were.
        var failure: SettingsError?
        /// The ids of other devices' entries that lose to a local value from a clock that was ahead.
        var overtaken: [String: FileID] = [:]
        /// The number of values of other devices that this app does not know.
        var unknownCount = 0
        /// Removals of long ago without a row on this device. They are not stored, because otherwise no device would
        /// ever forget them.
        var bygone: [String: FileID] = [:]
        /// Keys that were removed on this device and that another device still has, because the removal has not
        /// reached it.
        var needed: Set<String> = []
        var memory: CompanionSnapshot

        mutating func add(_ problem: CompanionStatus.Problem) {
            guard problems.count < CompanionStatus.mostProblems, !problems.contains(problem) else { return }
            problems.append(problem)
        }
    }

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
        self.known = known?.isUsable(now: access.now()) == true ? known : nil
        scope = CompanionScope(registry: access.registry, includesManual: includesManual, hasRootKey: hasRootKey)
        results = Mutex(Findings(memory: CompanionSnapshot(readAt: self.known?.readAt ?? access.now())))
        change { findings in
            findings.isReset = isReset
            if let problem { findings.add(problem) }
        }
    }

    var findings: Findings { results.withLock { $0 } }

    func change(_ body: (inout Findings) -> Void) { results.withLock { body(&$0) } }

    func run() async throws -> Findings {
        if findings.isReset { return try await leave() }
        let query = CompanionQuery(device: deviceID.text, versions: known?.states.mapValues(\.version) ?? [:])
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
        case .unchanged(let device):
            guard let known = known?.states[device] else { return change { $0.isWhole = false } }
            try await take(.state(known.state, version: known.version))
        case .state(let state, let version):
            change { findings in
                findings.memory.states[state.device] = version.map { .init(version: $0, state: state) }
                if isOwn { findings.own = state }
            }
            // The own state may be from before a removal of all values.
            if !isOwn || state.resetCount >= resetCount { try await merge(state, isOwn: isOwn) }
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
    private struct Found: Error {
        let reading: CompanionReading
    }

    /// After a removal of all values this device accepts nothing. It also withdraws its earlier state from the
    /// transport, readable or not.
    private func leave() async throws -> Findings {
        let count = try await access.runner.read(SettingsStateTable.read).resetCount
        change { $0.isReset = true }
        let own = deviceID.text
        do {
            try await calls.states(for: CompanionQuery(device: own)) { reading in
                if reading.device == own { throw Found(reading: reading) }
            }
        } catch let found as Found {
            // A router that was opened since then may already have published a new state.
            if case .state(let state, _) = found.reading, state.resetCount >= count || state.entries.isEmpty {
                return findings
            }
            try await calls.publish(CompanionState(deviceID: deviceID, resetCount: count, entries: [:]))
        }
        return findings
    }
}

/// The states that a round has read, so that the next rounds do not have to read them again.
///
/// Once a day, and whenever the app asks, everything is read again.
struct CompanionSnapshot: Sendable {
    /// The time in milliseconds after which everything is read again, whatever versions a transport reports.
    static let lifetime: Int64 = 24 * 3_600_000

    struct Device: Sendable {
        let version: String
        let state: CompanionState
    }

    /// The states by the ids of their devices, including that of this device.
    var states: [String: Device] = [:]
    /// The time of the last complete read, in milliseconds since 1970.
    let readAt: Int64

    func isUsable(now: Int64) -> Bool { (0..<Self.lifetime).contains(now &- readAt) }
}
