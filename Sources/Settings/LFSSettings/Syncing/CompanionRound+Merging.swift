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

    /// The results of a merge, in addition to the accepted values.
    struct Merged: Sendable {
        /// The number of values that this app does not know.
        var unknownCount = 0
        /// Removals of long ago without a row on this device. They are not stored, because otherwise no device would
        /// ever forget them.
        var bygone: [String: FileID] = [:]
        /// Keys that were removed on this device and that the other device still has, because the removal has not
        /// reached it.
        var needed: Set<String> = []
        /// True if the status has problems, so that the state is read again in each round.
        var hasProblems = false

        mutating func add(_ other: Merged) {
            unknownCount += other.unknownCount
            bygone.merge(other.bygone) { max($0, $1) }
            needed.formUnion(other.needed)
            hasProblems = hasProblems || other.hasProblems
        }
    }

    /// An entry that may be accepted.
    private struct Candidate: Sendable {
        let name: String
        let info: KeyInfo
        let entry: CompanionState.Entry
        /// True for an id that was too far ahead when the state was read. Its value was not checked, and is not taken.
        var isAhead = false
    }

    private struct Comparison: Sendable {
        var new: [Candidate] = []
        /// True if an entry that is too far ahead is later than the local one.
        var hasFutureUpdates = false
        /// The ids of entries that lose to a local one that is too far ahead.
        var overtaken: [String: FileID] = [:]
        var bygone: [String: FileID] = [:]
        var needed: Set<String> = []
    }

    func merge(_ state: CompanionState, isOwn: Bool) async throws -> Merged {
        var merged = Merged()
        let candidates = candidates(state, merged: &merged)
        if candidates.isEmpty { return merged }
        let bygone = findings.ofOthers.bygone
        // Usually nothing is new, and nothing is written.
        let compared = try await access.runner.read { db in try self.compare(candidates, bygone: bygone, db) }
        change { findings in
            findings.overtaken.merge(compared.overtaken) { max($0, $1) }
            if compared.hasFutureUpdates, !isOwn { findings.othersAreAhead = true }
        }
        if !isOwn { (merged.bygone, merged.needed) = (compared.bygone, compared.needed) }
        let new = compared.new.filter { candidate in isValue(candidate, of: state, merged: &merged) }
        for some in new.chunks(of: Self.rowsAtOnce) {
            guard try await write(Array(some)) else {
                change { $0.isReset = true }
                return merged
            }
        }
        return merged
    }

    /// - Returns: false if all values were removed in the meantime. They must not come back.
    private func write(_ new: [Candidate]) async throws -> Bool {
        try await access.write { batch in
            let (access, db) = (batch.access, batch.database)
            guard try SettingsStateTable.read(db).resetCount == self.resetCount else { return false }
            // Compared again, because the app may have set a value since the first comparison.
            for candidate in new where try self.wins(candidate, db) { try self.put(candidate, access: access, db) }
            return true
        }
    }

    private func compare(_ candidates: [Candidate], bygone: [String: FileID], _ db: Database) throws -> Comparison {
        let now = access.now()
        var result = Comparison()
        for candidate in candidates {
            let (name, entry) = (candidate.name, candidate.entry)
            let standing = try SettingTable.updateID(of: name, db)
            if candidate.isAhead {
                // Otherwise the entry was accepted while this clock was ahead too.
                if standing.map({ entry.updateID > $0 }) ?? true { result.hasFutureUpdates = true }
                continue
            }
            guard let standing else {
                if entry.content == nil, UpdateTime.isLongAgo(entry.updateID.milliseconds, now: now) {
                    result.bygone[name] = entry.updateID
                } else if entry.content != nil, let removal = bygone[name], removal > entry.updateID {
                    // A device that was offline for long still has the value.
                    let removed = CompanionState.Entry(updateID: removal, content: nil)
                    result.new.append(Candidate(name: name, info: candidate.info, entry: removed))
                    result.needed.insert(name)
                } else {
                    result.new.append(candidate)
                }
                continue
            }
            if try wins(candidate, db) {
                result.new.append(candidate)
                continue
            }
            if UpdateTime.isTooFarAhead(standing, now: now) { result.overtaken[name] = entry.updateID }
            if entry.content != nil, entry.updateID < standing, try SettingTable.isRemoved(name, db) {
                result.needed.insert(name)
            }
        }
        return result
    }

    private func put(_ candidate: Candidate, access: ValueAccess, _ db: Database) throws {
        let (name, info, entry) = (candidate.name, candidate.info, candidate.entry)
        let value = try entry.content.map { content in
            try access.close(content, name: name, info: info, keys: try access.keys(info, db))
        }
        try SettingTable.take(name, value: value, id: entry.updateID, now: access.now(), db)
        if value == nil { try access.noteRemoved(info, db) }
    }

    private func wins(_ candidate: Candidate, _ db: Database) throws -> Bool {
        let id = candidate.entry.updateID
        guard let standing = try SettingTable.updateID(of: candidate.name, db) else { return true }
        guard standing == id else { return id > standing }
        do {
            guard let row = try SettingTable.syncedRow(candidate.name, db) else { return true }
            let entry = CompanionState.Entry(updateID: id, content: try content(row, info: candidate.info, db))
            return candidate.entry.wins(over: entry)
        } catch is SettingsError {
            // An unreadable value is kept. A later value replaces it.
            return false
        }
    }

    /// Returns the decrypted value of a row, as other devices receive it.
    func content(_ row: SettingTable.SyncedRow, info: KeyInfo, _ db: Database) throws -> SerializedValue? {
        guard let content = row.content, info.security != .none else { return row.content }
        let keys = try access.ring.keys(db)
        return try access.open(StoredValue(content, updatedAt: 0), name: row.name, info: info, keys: keys)
    }

    // MARK: Candidates

    /// Returns the entries to compare with the rows, including those that are too far ahead.
    private func candidates(_ state: CompanionState, merged: inout Merged) -> [Candidate] {
        let now = access.now()
        var candidates: [Candidate] = []
        for (name, entry) in state.entries.sorted(by: { $0.key < $1.key }) {
            guard let info = scope.participant(name) else {
                if !scope.knows(name) { merged.unknownCount += 1 }
                continue
            }
            var candidate = Candidate(name: name, info: info, entry: entry)
            do throws(SettingsError) {
                if try isKnown(entry, info: info, now: now) {
                    candidates.append(candidate)
                } else {
                    merged.unknownCount += 1
                }
            } catch {
                if error.code == .clockAhead {
                    candidate.isAhead = true
                    candidates.append(candidate)
                }
                note(error.code, info: info, of: state, merged: &merged)
            }
        }
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
    private func isValue(_ candidate: Candidate, of state: CompanionState, merged: inout Merged) -> Bool {
        guard let content = candidate.entry.content else { return true }
        do {
            try candidate.info.check(content)
            return true
        } catch {
            note(candidate.info.decodingError(error).code, info: candidate.info, of: state, merged: &merged)
            return false
        }
    }

    private func note(_ code: SettingsError.Code, info: KeyInfo, of state: CompanionState, merged: inout Merged) {
        merged.hasProblems = true
        let problem = CompanionStatus.Problem(device: state.device, key: info.publicName, code: code.rawValue)
        change { $0.add(problem) }
    }
}
