import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// What this device has to tell the others.
struct CompanionOwn: Sendable {
    let access: ValueAccess
    let merge: CompanionMerge
    let deviceID: FileID
    /// How often everything was removed when the router was opened.
    let resetCount: Int64
    /// Bytes of a state at most.
    let limit: Int

    private struct Rows: Sendable {
        struct Ahead: Sendable {
            let updateID: FileID
            let isTaken: Bool
        }

        var isReset = false
        var selection: CompanionSelection
        /// Of a clock that was ahead.
        var tooFarAhead: [String: Ahead] = [:]
        /// Removals that everybody has heard of, long ago.
        var bygone: [String: FileID] = [:]
        var unreadable: [CompanionStatus.Problem] = []
    }

    /// Nothing can be said of this with a part of what others have published.
    struct NeedsWhole: Error {}

    /// - Returns: nil when everything was removed meanwhile.
    /// - Throws: ``NeedsWhole`` for a round that has not read all.
    func state(_ tally: CompanionTally) async throws -> CompanionState? {
        var rows = try await read(tally)
        if !rows.isReset { try requireClock(rows, tally.all) }
        if !rows.tooFarAhead.isEmpty {
            if tally.all.isPartial { throw NeedsWhole() }
            tally.forget()
            try await restamp(rows.tooFarAhead, tally.all.overtaken)
            rows = try await read(tally)
        }
        if rows.isReset { return nil }
        try await forget(rows.bygone)
        for problem in rows.unreadable { tally.add(problem) }
        let now = access.sealing.now()
        let findings = tally.all
        for (name, entry) in kept(findings.own) {
            if let forgotten = rows.bygone[name], entry.updateID <= forgotten { continue }
            if rows.selection.entries[name] == nil, isBygone(entry, name, findings, now) { continue }
            rows.selection.keep(name, entry)
        }
        rows.selection.fit()
        try tell(rows.selection, tally)
        return CompanionState(deviceID: deviceID, resetCount: resetCount, entries: rows.selection.entries)
    }

    // MARK: Rows

    private func read(_ tally: CompanionTally) async throws -> Rows {
        let findings = tally.all
        return try await access.runner.read { db in try self.rows(findings, db) }
    }

    private func rows(_ findings: CompanionTally.Findings, _ db: Database) throws -> Rows {
        let needed = findings.ofOthers.needed
        var rows = Rows(selection: CompanionSelection(limit: limit, needed: needed))
        rows.isReset = try SettingsStateTable.read(db).resetCount != resetCount
        if rows.isReset { return rows }
        let now = access.sealing.now()
        try SettingTable.forEachSyncedRow(where: { merge.scope.participant($0) != nil }, db) { name, row in
            guard let info = merge.scope.participant(name) else { return }
            do {
                let row = try row.get()
                guard let id = row.updateID else { throw Self.oddID }
                if UpdateTime.isTooFarAhead(id, now: now) {
                    rows.tooFarAhead[name] = Rows.Ahead(updateID: id, isTaken: row.isTaken)
                }
                let entry = CompanionState.Entry(updateID: id, content: try merge.content(row, info, db))
                let isLongAgo = UpdateTime.isLongAgo(max(id.milliseconds, row.updatedAt), now: now)
                if entry.content == nil, isLongAgo, findings.isWhole, !needed.contains(name) {
                    rows.bygone[name] = id
                } else {
                    rows.selection.add(name, entry)
                }
            } catch let error as SettingsError {
                rows.unreadable.append(
                    CompanionStatus.Problem(device: deviceID.text, key: info.publicName, code: error.code.rawValue))
            }
        }
        return rows
    }

    /// What was published of keys that this app does not know, or that take no part in this round: it is published
    /// again as it stands. So is what is later than the row and could not be taken.
    private func kept(_ own: CompanionState?) -> [String: CompanionState.Entry] {
        guard let own, own.resetCount >= resetCount else { return [:] }
        let now = access.sealing.now()
        return own.entries.filter { name, entry in
            !merge.scope.staysHere(name) && !UpdateTime.isTooFarAhead(entry.updateID, now: now)
        }
    }

    // MARK: Removals

    /// Forgets the notes of removals. Nothing keeps a value of before from coming here then, and nobody has one.
    private func forget(_ removals: [String: FileID]) async throws {
        if removals.isEmpty { return }
        try await access.runner.write { db in
            for (name, id) in removals { try SettingTable.forgetRemoval(name, id, db) }
        }
    }

    /// As for a row, of a note that is in no row.
    private func isBygone(
        _ entry: CompanionState.Entry, _ name: String, _ findings: CompanionTally.Findings, _ now: Int64
    ) -> Bool {
        entry.content == nil && findings.isWhole && !findings.ofOthers.needed.contains(name)
            && UpdateTime.isLongAgo(entry.updateID.milliseconds, now: now)
    }

    // MARK: Clocks

    /// What looks as if it were of a clock that was ahead is right, where it is this clock that is behind: a new time
    /// would let older values win, and what was published would be withdrawn.
    private func requireClock(_ rows: Rows, _ findings: CompanionTally.Findings) throws {
        let now = access.sealing.now()
        guard now < UpdateTime.earliest || findings.othersAreAhead else { return }
        let hasPublished = findings.own?.entries.values.contains { UpdateTime.isTooFarAhead($0.updateID, now: now) }
        if !rows.tooFarAhead.isEmpty || hasPublished == true { throw Self.clockBehind }
    }

    /// The clock was ahead, and is right now: with these times no other device would take the values. Those that were
    /// set here go on counting more than what they did until now. One that another device has set is put right by that
    /// device: until then whatever others have counts more, or an old copy would take back what was set since.
    private func restamp(_ ahead: [String: Rows.Ahead], _ overtaken: [String: FileID]) async throws {
        let moment = Date(millisecondsSince1970: access.sealing.now())
        try await access.runner.write { db in
            for (name, row) in ahead {
                let new: FileID
                if row.isTaken {
                    new = FileID.makeEarliest()
                } else if let other = overtaken[name] {
                    new = FileID.make(at: moment, after: other)
                } else {
                    new = FileID.make(at: moment)
                }
                try SettingTable.restamp(name, from: row.updateID, to: new, db)
            }
        }
    }

    // MARK: The limit

    private func tell(_ selection: CompanionSelection, _ tally: CompanionTally) throws {
        if selection.isOverLimit { throw Self.keptTooLarge(limit) }
        if selection.leftOut.isEmpty { return }
        let keys = Set(selection.leftOut.keys.compactMap { merge.scope.participant($0)?.publicName }).sorted()
        for key in keys {
            tally.add(
                CompanionStatus.Problem(device: deviceID.text, key: key, code: SettingsError.Code.tooLarge.rawValue))
        }
        tally.note(Self.tooLarge(selection.leftOut.count, keys, limit))
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

    private static func tooLarge(_ count: Int, _ keys: [String], _ limit: Int) -> SettingsError {
        let names = keys.prefix(10).joined(separator: ", ") + (keys.count > 10 ? ", …" : "")
        return SettingsError(
            .tooLarge,
            """
            Values that are to go to other devices have more than the \(limit) bytes that the transport takes. The \
            \(count) largest stay on this device, of \(names); all others go, and those of other devices arrive. Make \
            them smaller, remove some, or raise CompanionLimits.stateByteCount on all devices.
            """)
    }

    private static func keptTooLarge(_ limit: Int) -> SettingsError {
        SettingsError(
            .tooLarge,
            """
            What a newer version of the app has published for this device has more than the \(limit) bytes that the \
            transport takes. It stays as it is, and nothing is published: raise CompanionLimits.stateByteCount.
            """)
    }
}
