import GRDB
import LFSDatabase
import LFSSystem

/// A sync round. It accepts what other devices have published, and then publishes the state of this device if that has
/// changed.
///
/// If the process is killed at any point, each value is either the old or the new one, and the next round continues.
/// Accepted values are in the database, and the state to publish is derived from it.
struct CompanionRound: Sendable {
    let access: ValueAccess
    let calls: DeadlineTransport
    let deviceID: FileID
    /// The number of removals of all values when the router was opened.
    let resetCount: Int64
    let includesManual: Bool

    /// - Parameter memory: the states that earlier rounds have read, or nil to read all.
    func run(_ memory: CompanionSnapshot?) async throws -> CompanionAccumulator.Findings {
        guard try await !isReset() else { return try await leave(tally(nil, hasRootKey: false)) }
        let rootKey = await rootKey()
        let known = memory.flatMap { memory in
            memory.isUsable(hasRootKey: rootKey.isThere, now: access.now()) ? memory : nil
        }
        do {
            return try await run(known, rootKey: rootKey)
        } catch is CompanionLocalState.NeedsWhole {
            return try await run(nil, rootKey: rootKey)
        }
    }

    private func tally(_ known: CompanionSnapshot?, hasRootKey: Bool) -> CompanionAccumulator {
        CompanionAccumulator(CompanionSnapshot(readAt: known?.readAt ?? access.now(), hasRootKey: hasRootKey))
    }

    private func run(_ known: CompanionSnapshot?, rootKey: RootKey) async throws -> CompanionAccumulator.Findings {
        let tally = tally(known, hasRootKey: rootKey.isThere)
        if let problem = rootKey.problem { tally.add(problem) }
        let scope = CompanionScope(
            registry: access.registry, includesManual: includesManual, hasRootKey: rootKey.isThere)
        let merge = CompanionMerge(access: access, scope: scope, resetCount: resetCount)
        let query = known?.query(of: deviceID) ?? CompanionQuery(device: deviceID.text)
        try await calls.states(for: query) { reading in
            if !tally.all.isReset { try await take(reading, known: known, merge: merge, tally: tally) }
        }
        if tally.all.isReset { return try await leave(tally) }
        let own = CompanionLocalState(
            access: access, merge: merge, deviceID: deviceID, resetCount: resetCount,
            limit: calls.transport.limits.stateByteCount)
        guard let state = try await own.state(tally) else { return try await leave(tally) }
        let findings = tally.all
        // A device on which no value was ever set publishes nothing.
        guard !findings.ownIsNewer, state != findings.own, !state.entries.isEmpty || findings.own != nil else {
            return findings
        }
        if try await isReset() { return try await leave(tally) }
        try await calls.publish(state)
        // All values may have been removed while the state was being published.
        return try await isReset() ? leave(tally) : findings
    }

    private func take(
        _ reading: CompanionReading, known: CompanionSnapshot?, merge: CompanionMerge, tally: CompanionAccumulator
    ) async throws {
        let isOwn = reading.device == deviceID.text
        switch reading {
        case .unreadable(let device, let error):
            tally.add(CompanionStatus.Problem(device: device, key: nil, code: error.code.rawValue))
            tally.change { findings in
                if isOwn { findings.ownIsNewer = error.code == .newerValue } else { findings.isWhole = false }
            }
        case .unchanged(let device):
            if isOwn {
                if let own = known?.own { tally.noteOwn(own.state, version: own.version) }
            } else if let device = known?.devices[device] {
                tally.change { findings in
                    findings.isWhole = false
                    findings.isPartial = true
                }
                tally.add(device.findings, of: reading.device, version: device.version)
            } else {
                tally.change { $0.isWhole = false }
            }
        case .state(let state, let version):
            if isOwn {
                tally.noteOwn(state, version: version)
                // The state is from before a removal of all values.
                if state.resetCount < resetCount { return }
            }
            let found = try await merge.take(state, isOwn: isOwn, tally: tally)
            // A state with problems is read again in each round, to keep them in the status.
            if !isOwn { tally.add(found, of: state.device, version: found.hasProblems ? nil : version) }
            if isOwn, found.hasProblems { tally.noteOwn(state, version: nil) }
        }
    }

    private func isReset() async throws -> Bool {
        try await access.runner.read(SettingsStateTable.read).resetCount != resetCount
    }

    // MARK: The root key

    private struct RootKey: Sendable {
        let isThere: Bool
        var problem: CompanionStatus.Problem?
    }

    /// Loads the root key. Without it encrypted keys are skipped, and the other keys are synced.
    private func rootKey() async -> RootKey {
        let secret = access.registry.all.first { CompanionScope.isShared($0.info) && $0.info.security != .none }
        guard let secret else { return RootKey(isThere: false) }
        do {
            try await access.ring.load()
            return RootKey(isThere: true)
        } catch {
            let code = (SettingsError.wrapping(error, key: nil) as? SettingsError)?.code ?? .keyMissing
            let problem = CompanionStatus.Problem(
                device: deviceID.text, key: secret.info.publicName, code: code.rawValue)
            return RootKey(isThere: false, problem: problem)
        }
    }

    // MARK: Withdrawal

    /// An error that ends the search once this device's own state is found.
    private struct Found: Error {}

    /// After a removal of all values this device accepts nothing. It also withdraws its earlier state from the
    /// transport, readable or not.
    private func leave(_ tally: CompanionAccumulator) async throws -> CompanionAccumulator.Findings {
        let count = try await access.runner.read(SettingsStateTable.read).resetCount
        tally.change { $0.isReset = true }
        let found = ResultBox<Bool>()
        do {
            try await calls.states(for: CompanionQuery(device: deviceID.text)) { reading in
                guard reading.device == deviceID.text else { return }
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
        return tally.all
    }
}
