import GRDB
import LFSDatabase
import LFSSystem

/// The merge of another device's state into the database. Only later values are accepted.
///
/// Ids are compared first, so that only winning values are decoded. They are written in transactions of a few hundred
/// rows, so that the app's own changes can run in between.
extension CompanionRound {
    /// The maximum number of rows in one transaction.
    static let rowsAtOnce = 500

    /// An entry that may be accepted.
    private struct Candidate: Sendable {
        let name: String
        let info: KeyInfo
        let entry: CompanionState.Entry
        /// True for an id that was too far ahead when the state was read. Its value was not checked, and is not taken.
        var isAhead = false
    }

    func merge(_ state: CompanionState, isOwn: Bool) async throws {
        let candidates = candidates(state, isOwn: isOwn)
        if candidates.isEmpty { return }
        // Usually nothing is new, and nothing is written.
        let newer = try await access.runner.read { db in
            try candidates.compactMap { candidate in try self.newer(candidate, isOwn: isOwn, db) }
        }
        let new = newer.filter { candidate in isValue(candidate, of: state) }
        for some in new.chunks(of: Self.rowsAtOnce) where !findings.isReset {
            if try await !write(Array(some)) { change { $0.isReset = true } }
        }
    }

    /// - Returns: false if all values were removed in the meantime. They must not come back.
    private func write(_ new: [Candidate]) async throws -> Bool {
        try await access.write { batch in
            let (access, db) = (batch.access, batch.database)
            guard try SettingsStateTable.read(db).resetCount == self.resetCount else { return false }
            // Compared again, because the app may have set a value since.
            for candidate in new where try self.wins(candidate, over: SettingTable.row(candidate.name, db), db) {
                try self.put(candidate, access: access, db)
            }
            return true
        }
    }

    /// Returns the candidate if it may be accepted, or a removal that is later than the candidate. Nil if the row wins.
    private func newer(_ candidate: Candidate, isOwn: Bool, _ db: Database) throws -> Candidate? {
        let (name, entry, now) = (candidate.name, candidate.entry, access.now())
        let row = try SettingTable.row(name, db)
        let standing = row?.updateID
        if candidate.isAhead {
            // Otherwise the entry was accepted while this clock was ahead too.
            if !isOwn, standing.map({ entry.updateID > $0 }) ?? true { change { $0.othersAreAhead = true } }
            return nil
        }
        guard let standing else {
            if entry.content == nil, UpdateTime.isLongAgo(entry.updateID.milliseconds, now: now) {
                if !isOwn { change { $0.bygone[name] = max($0.bygone[name] ?? entry.updateID, entry.updateID) } }
                return nil
            }
            guard entry.content != nil, let removal = findings.bygone[name], removal > entry.updateID else {
                return candidate
            }
            // A device that was offline for long still has the value.
            if !isOwn { change { _ = $0.needed.insert(name) } }
            let removed = CompanionState.Entry(updateID: removal, content: nil)
            return Candidate(name: name, info: candidate.info, entry: removed)
        }
        if try wins(candidate, over: row, db) { return candidate }
        if UpdateTime.isTooFarAhead(standing, now: now) {
            change { $0.overtaken[name] = max($0.overtaken[name] ?? entry.updateID, entry.updateID) }
        }
        if !isOwn, entry.content != nil, entry.updateID < standing, row?.isRemoved == true {
            change { _ = $0.needed.insert(name) }
        }
        return nil
    }

    private func put(_ candidate: Candidate, access: ValueAccess, _ db: Database) throws {
        let (name, info, entry) = (candidate.name, candidate.info, candidate.entry)
        let value = try entry.content.map { content in
            try access.close(content, name: name, info: info, keys: try access.keys(info, db))
        }
        try SettingTable.take(name, value: value, id: entry.updateID, now: access.now(), db)
        if value == nil { try access.noteRemoved(info, db) }
    }

    private func wins(_ candidate: Candidate, over row: SettingRow?, _ db: Database) throws -> Bool {
        let id = candidate.entry.updateID
        guard let row, let standing = row.updateID else { return true }
        guard standing == id else { return id > standing }
        do {
            let entry = CompanionState.Entry(updateID: id, content: try content(row, info: candidate.info, db))
            return candidate.entry.wins(over: entry)
        } catch is SettingsError {
            // An unreadable value is kept. A later value replaces it.
            return false
        }
    }

    /// Returns the decrypted value of a row, as other devices receive it.
    func content(_ row: SettingRow, info: KeyInfo, _ db: Database) throws -> SerializedValue? {
        guard let value = try row.value.get() else { return nil }
        let keys = info.security == .none ? KeySet.none : try access.ring.keys(db)
        return try access.open(value, name: row.name, info: info, keys: keys)
    }

    // MARK: Candidates

    /// Returns the entries to compare with the rows, including those that are too far ahead.
    private func candidates(_ state: CompanionState, isOwn: Bool) -> [Candidate] {
        let now = access.now()
        var candidates: [Candidate] = []
        var unknownCount = 0
        for (name, entry) in state.entries.sorted(by: { $0.key < $1.key }) {
            guard let info = scope.participant(name) else {
                if !scope.knows(name) { unknownCount += 1 }
                continue
            }
            var candidate = Candidate(name: name, info: info, entry: entry)
            do throws(SettingsError) {
                if try isKnown(entry, info: info, now: now) {
                    candidates.append(candidate)
                } else {
                    unknownCount += 1
                }
            } catch {
                if error.code == .clockAhead {
                    candidate.isAhead = true
                    candidates.append(candidate)
                }
                note(error.code, info: info, of: state)
            }
        }
        if !isOwn { change { $0.unknownCount += unknownCount } }
        return candidates
    }

    /// Returns true if this version of the app can read the value, judging by everything except its bytes.
    ///
    /// - Throws: ``SettingsError/Code/clockAhead``, ``SettingsError/Code/tooLarge``, and
    ///   ``SettingsError/Code/migrationFailed`` for a catalog whose data could not be migrated.
    private func isKnown(
        _ entry: CompanionState.Entry, info: KeyInfo, now: Int64
    ) throws(SettingsError) -> Bool {
        if UpdateTime.isTooFarAhead(entry.updateID, now: now) {
            throw SettingsError(
                .clockAhead, message: "The clock of another device is more than a day ahead. Set it right.")
        }
        if let catalog = access.registry.entry(forStored: info.name)?.catalog {
            try access.pending.checkCatalog(catalog, key: info.publicName)
        }
        guard let content = entry.content else { return true }
        guard content.serializer == info.serializer, content.version <= info.version else { return false }
        guard content.bytes.count <= min(info.domain.limit, info.sync.limit ?? .max) else {
            throw SettingsError(
                .tooLarge,
                message: "Another device has a value for the key that is larger than this device accepts.")
        }
        return true
    }

    /// Returns true if the bytes are a value of the key.
    private func isValue(_ candidate: Candidate, of state: CompanionState) -> Bool {
        guard let content = candidate.entry.content else { return true }
        do {
            try candidate.info.check(content)
            return true
        } catch {
            note(candidate.info.decodingError(error).code, info: candidate.info, of: state)
            return false
        }
    }

    private func note(_ code: SettingsError.Code, info: KeyInfo, of state: CompanionState) {
        let problem = CompanionStatus.Problem(device: state.device, key: info.publicName, code: code.rawValue)
        change { $0.add(problem) }
    }
}
