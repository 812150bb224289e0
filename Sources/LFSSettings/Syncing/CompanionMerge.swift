import GRDB
import LFSDatabase
import LFSSystem

/// Takes what another device has published, as far as it is later than what is here, in one transaction.
struct CompanionMerge: Sendable {
    let access: ValueAccess
    let scope: CompanionScope
    /// How often everything was removed when the router was opened.
    let resetCount: Int64

    /// Something that may be taken.
    private struct Candidate: Sendable {
        let name: String
        let info: KeyInfo
        let entry: CompanionState.Entry
    }

    func take(_ state: CompanionState, isOwn: Bool, _ tally: CompanionTally) async throws {
        let candidates = candidates(state, isOwn: isOwn, tally)
        if candidates.isEmpty { return }
        // Mostly there is nothing new, and then nothing is written.
        let (new, overtaken) = try await access.runner.read { db in try self.compare(candidates, db) }
        tally.noteOvertaken(overtaken)
        if new.isEmpty { return }
        let keys: KeyAccess =
            new.contains { $0.info.security != .none } ? .ring(access.sealing.ring) : .none
        let isReset = Box<Bool>()
        try await keys.retrying {
            try await access.runner.write { db in
                // What was removed meanwhile is not to come back.
                let isGone = try SettingsStateTable.read(db).resetCount != resetCount
                isReset.put(isGone)
                if !isGone { try self.put(new, keys, db) }
            }
        }
        if try isReset.get() { tally.noteReset() }
    }

    /// - Returns: those that win, and the ids of those that lose to one that is too far ahead.
    private func compare(
        _ candidates: [Candidate], _ db: Database
    ) throws -> (new: [Candidate], overtaken: [String: FileID]) {
        let now = access.sealing.now()
        var (new, overtaken): ([Candidate], [String: FileID]) = ([], [:])
        for candidate in candidates {
            if try wins(candidate, db) {
                new.append(candidate)
            } else if let standing = try SettingTable.updateID(of: candidate.name, db),
                UpdateTime.isTooFarAhead(standing, now: now)
            {
                overtaken[candidate.name] = candidate.entry.updateID
            }
        }
        return (new, overtaken)
    }

    private func put(_ new: [Candidate], _ keys: KeyAccess, _ db: Database) throws {
        let (sealing, now) = (access.sealing, access.sealing.now())
        var set = KeySet.none
        if case .ring(let ring) = keys { set = try ring.requiredKeys(db) }
        // Asked again: the app may have set one meanwhile.
        for candidate in new where try wins(candidate, db) {
            let (name, info, entry) = (candidate.name, candidate.info, candidate.entry)
            let value = try entry.content.map { try sealing.close($0, name, info, set) }
            try SettingTable.take(name, value, entry.updateID, now: now, db)
            if value == nil { try TransactionAccess.noteRemoved(info, now: now, db) }
        }
    }

    private func wins(_ candidate: Candidate, _ db: Database) throws -> Bool {
        let id = candidate.entry.updateID
        guard let standing = try SettingTable.updateID(of: candidate.name, db) else { return true }
        guard standing == id else { return id > standing }
        do {
            guard let row = try SettingTable.syncedRow(candidate.name, db) else { return true }
            let entry = CompanionState.Entry(updateID: id, content: try content(row, candidate.info, db))
            return candidate.entry.wins(over: entry)
        } catch is SettingsError {
            // What cannot be read stays as it is; something later mends it.
            return false
        }
    }

    /// The value of a row as other devices take it, out of its envelope.
    func content(_ row: SettingTable.SyncedRow, _ info: KeyInfo, _ db: Database) throws -> SerializedValue? {
        guard let content = row.content, info.security != .none else { return row.content }
        let keys = try access.sealing.ring.keys(db)
        return try access.sealing.open(StoredValue(content, updatedAt: 0), row.name, info, keys)
    }

    // MARK: What may be taken

    private func candidates(_ state: CompanionState, isOwn: Bool, _ tally: CompanionTally) -> [Candidate] {
        let now = access.sealing.now()
        var (candidates, unknownCount): ([Candidate], Int) = ([], 0)
        for (name, entry) in state.entries.sorted(by: { $0.key < $1.key }) {
            guard let info = scope.participant(name) else {
                if !scope.knows(name) { unknownCount += 1 }
                continue
            }
            do {
                if try isKnown(entry, info, now: now) {
                    candidates.append(Candidate(name: name, info: info, entry: entry))
                } else {
                    unknownCount += 1
                }
            } catch {
                if error.code == .clockAhead, !isOwn { tally.noteOthersAhead() }
                tally.add(
                    CompanionStatus.Problem(device: state.device, key: info.publicName, code: error.code.rawValue))
            }
        }
        if !isOwn { tally.addUnknown(unknownCount) }
        return candidates
    }

    /// Whether an app of this version can read the value.
    ///
    /// - Throws: ``SettingsError/Code/clockAhead``, ``SettingsError/Code/tooLarge``,
    ///   ``SettingsError/Code/undecodable``; ``SettingsError/Code/migrationFailed`` for a catalog whose data wait.
    private func isKnown(
        _ entry: CompanionState.Entry, _ info: KeyInfo, now: Int64
    ) throws(SettingsError) -> Bool {
        if UpdateTime.isTooFarAhead(entry.updateID, now: now) {
            throw SettingsError(.clockAhead, "The clock of another device is more than a day ahead: set it right.")
        }
        if let catalog = access.registry.entry(forStored: info.name)?.catalog {
            try access.pending.checkCatalog(catalog, info.publicName)
        }
        guard let content = entry.content else { return true }
        guard content.serializer == info.serializer, content.version <= info.version else { return false }
        guard content.bytes.count <= min(info.domain.limit, info.sync.limit ?? .max) else {
            throw SettingsError(.tooLarge, "Another device has a larger value for the key than it takes here.")
        }
        do { try info.check(content) } catch { throw info.decodingError(error) }
        return true
    }
}
