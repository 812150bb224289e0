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
    let transport: any CompanionTransport
    let deviceID: FileID
    /// How often everything was removed when the router was opened.
    let resetCount: Int64
    let includesManual: Bool

    private struct OwnRows: Sendable {
        var isReset = false
        var entries: [String: CompanionState.Entry] = [:]
        var byteCount = 0
        /// Of a clock that was ahead.
        var tooFarAhead: [String: FileID] = [:]
        var unreadable: [CompanionStatus.Problem] = []
    }

    func run() async throws -> CompanionTally.Findings {
        let tally = CompanionTally()
        let reset = try await access.runner.read(SettingsStateTable.read).resetCount
        guard reset == resetCount else { return try await leave(tally, reset) }
        let scope = CompanionScope(
            registry: access.registry, includesManual: includesManual, hasRootKey: await hasRootKey(tally))
        let merge = CompanionMerge(access: access, scope: scope, resetCount: resetCount)
        try await transport.states { reading in
            guard let state = note(reading, tally), !tally.all.isReset else { return }
            try await merge.take(state, isOwn: state.deviceID == deviceID, tally)
        }
        if tally.all.isReset { return try await leave(tally, nil) }
        guard let state = try await ownState(merge, tally) else { return try await leave(tally, nil) }
        let own = tally.all.own
        // A device to which nothing was ever set has nothing to say.
        guard !tally.all.ownIsNewer, state != own, !state.entries.isEmpty || own != nil else { return tally.all }
        guard state.byteCount <= transport.limits.stateByteCount else { throw Self.tooLarge(state, transport.limits) }
        try await transport.publish(state)
        return tally.all
    }

    /// - Returns: what may be taken; nil for nothing.
    private func note(_ reading: CompanionReading, _ tally: CompanionTally) -> CompanionState? {
        switch reading {
        case .unreadable(let device, let error):
            tally.add(CompanionStatus.Problem(device: device, key: nil, code: error.code.rawValue))
            if device == deviceID.text, error.code == .newerValue { tally.noteNewerOwn() }
            return nil
        case .state(let state):
            guard state.deviceID == deviceID else { return state }
            tally.noteOwn(state)
            // From before a removal of everything.
            return state.resetCount < resetCount ? nil : state
        }
    }

    /// Encrypted keys wait while there is no root key; the others do not wait for them.
    private func hasRootKey(_ tally: CompanionTally) async -> Bool {
        let secret = access.registry.all.first { CompanionScope.isShared($0.info) && $0.info.security != .none }
        guard let secret else { return false }
        do {
            try await access.sealing.ring.load()
            return true
        } catch {
            let code = (SettingsError.wrapping(error, nil) as? SettingsError)?.code ?? .keyMissing
            tally.add(
                CompanionStatus.Problem(device: deviceID.text, key: secret.info.publicName, code: code.rawValue))
            return false
        }
    }

    // MARK: What is published

    /// What this device has to tell; nil when everything was removed meanwhile.
    private func ownState(_ merge: CompanionMerge, _ tally: CompanionTally) async throws -> CompanionState? {
        var rows = try await access.runner.read { db in try self.rows(merge, db) }
        if !rows.isReset { try requireClock(rows, tally.all) }
        if !rows.tooFarAhead.isEmpty {
            // The clock was ahead, and is right now: with these times no other device would take them. They go on
            // counting more than what they did until now.
            let (ahead, overtaken, now) = (rows.tooFarAhead, tally.all.overtaken, access.sealing.now())
            try await access.runner.write { db in
                for (name, id) in ahead {
                    try SettingTable.restamp(name, from: id, after: overtaken[name], now: now, db)
                }
            }
            rows = try await access.runner.read { db in try self.rows(merge, db) }
        }
        if rows.isReset { return nil }
        for problem in rows.unreadable { tally.add(problem) }
        let entries = rows.entries.merging(kept(merge.scope, tally.all.own)) { row, kept in
            kept.wins(over: row) ? kept : row
        }
        return CompanionState(deviceID: deviceID, resetCount: resetCount, entries: entries)
    }

    /// What looks as if it were of a clock that was ahead is right, where it is this clock that is behind: a new time
    /// would let older values win, and what was published would be withdrawn.
    private func requireClock(_ rows: OwnRows, _ findings: CompanionTally.Findings) throws {
        let now = access.sealing.now()
        guard now < UpdateTime.earliest || findings.othersAreAhead else { return }
        let hasPublished = findings.own?.entries.values.contains { UpdateTime.isTooFarAhead($0.updateID, now: now) }
        if !rows.tooFarAhead.isEmpty || hasPublished == true { throw Self.clockBehind }
    }

    private func rows(_ merge: CompanionMerge, _ db: Database) throws -> OwnRows {
        var rows = OwnRows()
        rows.isReset = try SettingsStateTable.read(db).resetCount != resetCount
        if rows.isReset { return rows }
        let now = access.sealing.now()
        try SettingTable.forEachSyncedRow(where: { merge.scope.participant($0) != nil }, db) { name, row in
            guard let info = merge.scope.participant(name) else { return }
            do {
                let row = try row.get()
                guard let id = row.updateID else { throw Self.oddID }
                if UpdateTime.isTooFarAhead(id, now: now) { rows.tooFarAhead[name] = id }
                let content = try merge.content(row, info, db)
                rows.byteCount += CompanionState.entryFrame + name.utf8.count + (content?.bytes.count ?? 0)
                // More is not held in memory: it cannot be published.
                guard rows.byteCount / 2 <= transport.limits.stateByteCount else { throw TooMuch() }
                rows.entries[name] = CompanionState.Entry(updateID: id, content: content)
            } catch let error as SettingsError {
                rows.unreadable.append(
                    CompanionStatus.Problem(
                        device: deviceID.text, key: info.publicName, code: error.code.rawValue))
            } catch is TooMuch {
                throw Self.tooLarge(nil, transport.limits)
            }
        }
        return rows
    }

    private struct TooMuch: Error {}

    /// What was published of keys that this app does not know, or that take no part in this round: it is published
    /// again as it stands. So is what is later than the row and could not be taken.
    private func kept(_ scope: CompanionScope, _ own: CompanionState?) -> [String: CompanionState.Entry] {
        guard let own, own.resetCount >= resetCount else { return [:] }
        let now = access.sealing.now()
        return own.entries.filter { name, entry in
            !scope.staysHere(name) && !UpdateTime.isTooFarAhead(entry.updateID, now: now)
        }
    }

    // MARK: Leaving

    /// After a removal of everything this device takes nothing, and nothing of before stays published under its name.
    private func leave(_ tally: CompanionTally, _ known: Int64?) async throws -> CompanionTally.Findings {
        let count: Int64
        if let known { count = known } else { count = try await access.runner.read(SettingsStateTable.read).resetCount }
        tally.noteReset()
        try await transport.states { reading in _ = note(reading, tally) }
        // A router that was opened since may have published something new by now.
        if let own = tally.all.own, own.resetCount < count, !own.entries.isEmpty {
            try await transport.publish(CompanionState(deviceID: deviceID, resetCount: count, entries: [:]))
        }
        return tally.all
    }

    // MARK: Errors

    private static var clockBehind: SettingsError {
        SettingsError(
            .clockAhead,
            """
            What was set on this device is more than a day ahead of its clock, and so is what other devices have, or \
            the clock was never set. Nothing is published until the clocks are right.
            """)
    }

    private static var oddID: SettingsError {
        SettingsError(.corrupted, "The row has no id of an update: another program has written it. Set the key anew.")
    }

    private static func tooLarge(_ state: CompanionState?, _ limits: CompanionLimits) -> SettingsError {
        let size = state.map { "\($0.byteCount)" } ?? "too many"
        return SettingsError(
            .tooLarge,
            """
            The settings that are to go to other devices have \(size) bytes, and the transport takes \
            \(limits.stateByteCount). Values of others arrive, and nothing is published: remove members of families, \
            give keys a smaller maxByteCount, or raise CompanionLimits.stateByteCount on all devices.
            """)
    }
}
