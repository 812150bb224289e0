import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// The state that this device publishes.
extension CompanionRound {
    private struct Rows: Sendable {
        var selection: CompanionSelection
        /// The rows from a clock that was ahead.
        var tooFarAhead: [String: (updateID: FileID, isTaken: Bool)] = [:]
        /// Removals of long ago that have reached all devices.
        var bygone: [String: FileID] = [:]
    }

    /// - Returns: nil if all values were removed in the meantime.
    func stateToPublish() async throws -> CompanionState? {
        guard var rows = try await readRows() else { return nil }
        try requireClock(rows)
        if !rows.tooFarAhead.isEmpty {
            try await restamp(rows.tooFarAhead, overtaken: findings.overtaken)
            guard let again = try await readRows() else { return nil }
            rows = again
        }
        try await forget(rows.bygone)
        let now = access.now()
        for (name, entry) in kept(now: now) {
            if let forgotten = rows.bygone[name], entry.updateID <= forgotten { continue }
            if rows.selection.entries[name] == nil, entry.content == nil,
                isBygone(name, milliseconds: entry.updateID.milliseconds, findings: findings, now: now)
            {
                continue
            }
            rows.selection.keep(name, entry: entry)
        }
        rows.selection.fit()
        try report(rows.selection)
        return CompanionState(deviceID: deviceID, resetCount: resetCount, entries: rows.selection.entries)
    }

    // MARK: Rows

    private func readRows() async throws -> Rows? {
        let (findings, now) = (findings, access.now())
        return try await access.runner.read { db in
            if try SettingsStateTable.read(db).resetCount != self.resetCount { return nil }
            var rows = Rows(selection: CompanionSelection(limit: self.limit, needed: findings.needed))
            try SettingTable.forEachRow(db) { row in
                guard let info = self.scope.participant(row.name) else { return }
                do {
                    try self.add(row, info: info, to: &rows, findings: findings, now: now, db)
                } catch let error as SettingsError {
                    let device = self.deviceID.text
                    self.change { $0.add(.init(device: device, key: info.publicName, code: error.code.rawValue)) }
                }
            }
            return rows
        }
    }

    private func add(
        _ row: SettingRow, info: KeyInfo, to rows: inout Rows, findings: Findings, now: Int64, _ db: Database
    ) throws {
        guard let id = row.updateID else { throw Self.oddID }
        if UpdateTime.isTooFarAhead(id, now: now) { rows.tooFarAhead[row.name] = (id, row.isTaken) }
        let entry = CompanionState.Entry(updateID: id, content: try content(row, info: info, db))
        let milliseconds = max(id.milliseconds, row.updatedAt)
        if entry.content == nil, isBygone(row.name, milliseconds: milliseconds, findings: findings, now: now) {
            rows.bygone[row.name] = id
        } else {
            rows.selection.add(row.name, entry: entry)
        }
    }

    /// Returns the published entries to publish again unchanged. They belong to keys that this app does not know or
    /// that are not part of this round, or they are later than the row and could not be accepted.
    private func kept(now: Int64) -> [String: CompanionState.Entry] {
        guard let own = findings.own, own.resetCount >= resetCount else { return [:] }
        return own.entries.filter { name, entry in
            !scope.staysHere(name) && !UpdateTime.isTooFarAhead(entry.updateID, now: now)
        }
    }

    // MARK: Removals

    /// Deletes the records of removals. Without a record an earlier value could come back, but no device has one any
    /// more.
    private func forget(_ removals: [String: FileID]) async throws {
        if removals.isEmpty { return }
        try await access.runner.write { db in
            for (name, id) in removals { try SettingTable.forgetRemoval(name, id: id, db) }
        }
    }

    /// Returns true for a removal of long ago that has reached all devices.
    private func isBygone(_ name: String, milliseconds: Int64, findings: Findings, now: Int64) -> Bool {
        findings.isWhole && !findings.needed.contains(name)
            && UpdateTime.isLongAgo(milliseconds, now: now)
    }

    // MARK: Clocks

    /// Throws if this device's clock may be behind. Ids that seem too far ahead are right in that case. New ids would
    /// let older values win, and published values would be withdrawn.
    private func requireClock(_ rows: Rows) throws {
        let (findings, now) = (findings, access.now())
        guard now < UpdateTime.earliest || findings.othersAreAhead else { return }
        let hasPublished = findings.own?.entries.values.contains { UpdateTime.isTooFarAhead($0.updateID, now: now) }
        if !rows.tooFarAhead.isEmpty || hasPublished == true { throw Self.clockBehind }
    }

    /// Gives new ids to rows from the time when the clock was ahead, because other devices would not accept the old
    /// ids. Values that were set on this device still win over the same values as before. A value of another device
    /// gets the earliest possible id, because that device corrects it. Until then all other values win, or else an old
    /// copy would overwrite values that were set since.
    private func restamp(
        _ ahead: [String: (updateID: FileID, isTaken: Bool)], overtaken: [String: FileID]
    ) async throws {
        let moment = Date(millisecondsSince1970: access.now())
        try await access.runner.write { db in
            for (name, row) in ahead {
                let set = overtaken[name].map { FileID.make(at: moment, after: $0) } ?? FileID.make(at: moment)
                let new = row.isTaken ? FileID.makeEarliest() : set
                try SettingTable.restamp(name, from: row.updateID, to: new, db)
            }
        }
    }

    // MARK: The limit

    private func report(_ selection: CompanionSelection) throws {
        if selection.isOverLimit { throw Self.keptTooLarge(limit) }
        if selection.leftOut.isEmpty { return }
        let keys = Set(selection.leftOut.keys.compactMap { scope.participant($0)?.publicName }).sorted()
        change { findings in
            for key in keys {
                findings.add(.init(device: deviceID.text, key: key, code: SettingsError.Code.tooLarge.rawValue))
            }
            findings.failure = Self.tooLarge(selection.leftOut.count, keys: keys, limit: limit)
        }
    }

    // MARK: Errors

    private static var clockBehind: SettingsError {
        SettingsError(
            .clockAhead,
            message: """
                The values that were set on this device are dated more than a day ahead of its clock, and so are those \
                of other devices, or the clock was never set. Nothing is published until the clocks are right.
                """)
    }

    private static var oddID: SettingsError {
        SettingsError(
            .corrupted,
            message: "The row has no valid update id, because another program has written it. Set the key again.")
    }

    private static func tooLarge(_ count: Int, keys: [String], limit: Int) -> SettingsError {
        let names = keys.prefix(10).joined(separator: ", ") + (keys.count > 10 ? ", …" : "")
        return SettingsError(
            .tooLarge,
            message: """
                The values for other devices have more than the \(limit) bytes that the transport accepts. The \
                \(count) largest stay on this device: \(names). All others are published, and values of other devices \
                are still received. Make them smaller, remove some, or raise CompanionLimits.stateByteCount on all \
                devices.
                """)
    }

    private static func keptTooLarge(_ limit: Int) -> SettingsError {
        SettingsError(
            .tooLarge,
            message: """
                The state that a newer version of the app has published for this device has more than the \(limit) \
                bytes that the transport accepts. It is left unchanged, and nothing is published. Raise \
                CompanionLimits.stateByteCount.
                """)
    }
}
