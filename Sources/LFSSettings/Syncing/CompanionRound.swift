import GRDB
import LFSDatabase
import LFSSystem

/// One time through: what other devices have published is taken, and then what is here is published, if that is
/// another state than the one of before.
///
/// A kill anywhere leaves values as of before or after, and the next round goes on: what is taken is in the database,
/// and what is to be published follows from it.
struct CompanionRound: Sendable {
    let access: ValueAccess
    let calls: CompanionCalls
    let deviceID: FileID
    /// How often everything was removed when the router was opened.
    let resetCount: Int64
    let includesManual: Bool

    /// - Parameter memory: what earlier rounds have read; nil to read all.
    func run(_ memory: CompanionMemory?) async throws -> CompanionTally.Findings {
        guard try await !isReset() else { return try await leave(tally(nil, hasRootKey: false)) }
        let rootKey = await rootKey()
        let known = memory.flatMap { memory in
            memory.isUsable(hasRootKey: rootKey.isThere, now: access.sealing.now()) ? memory : nil
        }
        do {
            return try await run(known, rootKey)
        } catch is CompanionOwn.NeedsWhole {
            return try await run(nil, rootKey)
        }
    }

    private func tally(_ known: CompanionMemory?, hasRootKey: Bool) -> CompanionTally {
        CompanionTally(CompanionMemory(readAt: known?.readAt ?? access.sealing.now(), hasRootKey: hasRootKey))
    }

    private func run(_ known: CompanionMemory?, _ rootKey: RootKey) async throws -> CompanionTally.Findings {
        let tally = tally(known, hasRootKey: rootKey.isThere)
        if let problem = rootKey.problem { tally.add(problem) }
        let scope = CompanionScope(
            registry: access.registry, includesManual: includesManual, hasRootKey: rootKey.isThere)
        let merge = CompanionMerge(access: access, scope: scope, resetCount: resetCount)
        let query = known?.query(of: deviceID) ?? CompanionQuery(device: deviceID.text)
        try await calls.states(for: query) { reading in
            if !tally.all.isReset { try await take(reading, known, merge, tally) }
        }
        if tally.all.isReset { return try await leave(tally) }
        let own = CompanionOwn(
            access: access, merge: merge, deviceID: deviceID, resetCount: resetCount,
            limit: calls.transport.limits.stateByteCount)
        guard let state = try await own.state(tally) else { return try await leave(tally) }
        let findings = tally.all
        // A device to which nothing was ever set has nothing to say.
        guard !findings.ownIsNewer, state != findings.own, !state.entries.isEmpty || findings.own != nil else {
            return findings
        }
        if try await isReset() { return try await leave(tally) }
        try await calls.publish(state)
        // Everything may have been removed while that went out.
        return try await isReset() ? leave(tally) : findings
    }

    private func take(
        _ reading: CompanionReading, _ known: CompanionMemory?, _ merge: CompanionMerge, _ tally: CompanionTally
    ) async throws {
        let isOwn = reading.device == deviceID.text
        switch reading {
        case .unreadable(let device, let error):
            tally.add(CompanionStatus.Problem(device: device, key: nil, code: error.code.rawValue))
            if isOwn { tally.noteUnreadableOwn(isNewer: error.code == .newerValue) } else { tally.noteUnread() }
        case .unchanged(let device):
            if isOwn {
                if let own = known?.own { tally.noteOwn(own.state, version: own.version) }
            } else if let device = known?.devices[device] {
                tally.noteKnown()
                tally.add(device.findings, of: reading.device, version: device.version)
            } else {
                tally.noteUnread()
            }
        case .state(let state, let version):
            if isOwn {
                tally.noteOwn(state, version: version)
                // From before a removal of everything.
                if state.resetCount < resetCount { return }
            }
            let found = try await merge.take(state, isOwn: isOwn, tally)
            // What stands in the status is looked at again.
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

    /// Encrypted keys wait while there is no root key; the others do not wait for them.
    private func rootKey() async -> RootKey {
        let secret = access.registry.all.first { CompanionScope.isShared($0.info) && $0.info.security != .none }
        guard let secret else { return RootKey(isThere: false) }
        do {
            try await access.sealing.ring.load()
            return RootKey(isThere: true)
        } catch {
            let code = (SettingsError.wrapping(error, nil) as? SettingsError)?.code ?? .keyMissing
            let problem = CompanionStatus.Problem(
                device: deviceID.text, key: secret.info.publicName, code: code.rawValue)
            return RootKey(isThere: false, problem: problem)
        }
    }

    // MARK: Leaving

    /// The own state was found: nobody else's is needed.
    private struct Found: Error {}

    /// After a removal of everything this device takes nothing, and nothing of before stays published under its name,
    /// readable or not.
    private func leave(_ tally: CompanionTally) async throws -> CompanionTally.Findings {
        let count = try await access.runner.read(SettingsStateTable.read).resetCount
        tally.noteReset()
        let found = Box<Bool>()
        found.put(false)
        do {
            try await calls.states(for: CompanionQuery(device: deviceID.text)) { reading in
                guard reading.device == deviceID.text else { return }
                if case .state(let state, _) = reading {
                    // A router that was opened since may have published something new by now.
                    found.put(state.resetCount < count && !state.entries.isEmpty)
                } else {
                    found.put(true)
                }
                throw Found()
            }
        } catch is Found {
            if try found.get() {
                try await calls.publish(CompanionState(deviceID: deviceID, resetCount: count, entries: [:]))
            }
        }
        return tally.all
    }
}
