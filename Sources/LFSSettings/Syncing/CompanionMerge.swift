import GRDB
import LFSDatabase
import LFSSystem

/// Takes what another device has published, as far as it is later than what is here.
///
/// Ids are compared first, so that only what wins is decoded. What wins is written some hundred rows at a time, with
/// the app's own changes between them.
struct CompanionMerge: Sendable {
    let access: ValueAccess
    let scope: CompanionScope
    /// How often everything was removed when the router was opened.
    let resetCount: Int64

    /// Rows of one transaction.
    static let rowsAtOnce = 500

    /// What a state has beside what is taken from it.
    struct Findings: Sendable {
        /// How many values this app does not know.
        var unknownCount = 0
        /// Removals of long ago that found nothing to remove. They are not taken, or no device would ever forget one.
        var bygone: [String: FileID] = [:]
        /// Keys whose value was removed here, and that the device still has: it has not heard of it.
        var needed: Set<String> = []
        /// Whether something stands in the status, and is looked at again each time.
        var hasProblems = false

        mutating func add(_ other: Findings) {
            unknownCount += other.unknownCount
            bygone.merge(other.bygone) { max($0, $1) }
            needed.formUnion(other.needed)
            hasProblems = hasProblems || other.hasProblems
        }
    }

    /// Something that may be taken.
    private struct Candidate: Sendable {
        let name: String
        let info: KeyInfo
        let entry: CompanionState.Entry
    }

    /// What is looked at in a state.
    private struct Candidates: Sendable {
        var some: [Candidate] = []
        /// Those of a day to come.
        var ahead: [String: FileID] = [:]
    }

    private struct Comparison: Sendable {
        var new: [Candidate] = []
        /// Whether one of a day to come is later than what is here.
        var areAhead = false
        /// The ids of those that lose to one that is too far ahead.
        var overtaken: [String: FileID] = [:]
        var bygone: [String: FileID] = [:]
        var needed: Set<String> = []
    }

    func take(_ state: CompanionState, isOwn: Bool, _ tally: CompanionTally) async throws -> Findings {
        var found = Findings()
        let candidates = candidates(state, &found, tally)
        if candidates.some.isEmpty, candidates.ahead.isEmpty { return found }
        let bygone = tally.all.ofOthers.bygone
        // Mostly there is nothing new, and then nothing is written.
        let compared = try await access.runner.read { db in try self.compare(candidates, bygone, db) }
        tally.noteOvertaken(compared.overtaken)
        if compared.areAhead, !isOwn { tally.noteOthersAhead() }
        if !isOwn { (found.bygone, found.needed) = (compared.bygone, compared.needed) }
        let new = compared.new.filter { candidate in isValue(candidate, of: state, &found, tally) }
        let keys: KeyAccess =
            new.contains { $0.info.security != .none } ? .ring(access.sealing.ring) : .none
        for some in new.chunks(of: Self.rowsAtOnce) {
            guard try await write(Array(some), keys) else {
                tally.noteReset()
                return found
            }
        }
        return found
    }

    /// - Returns: false when everything was removed meanwhile: it is not to come back.
    private func write(_ new: [Candidate], _ keys: KeyAccess) async throws -> Bool {
        let isReset = Box<Bool>()
        try await keys.retrying {
            try await access.runner.write { db in
                let isGone = try SettingsStateTable.read(db).resetCount != resetCount
                isReset.put(isGone)
                if !isGone { try self.put(new, keys, db) }
            }
        }
        return try !isReset.get()
    }

    private func compare(
        _ candidates: Candidates, _ bygone: [String: FileID], _ db: Database
    ) throws -> Comparison {
        let now = access.sealing.now()
        var result = Comparison()
        for (name, id) in candidates.ahead where !result.areAhead {
            // What is here as well, or is older, was taken while this clock was ahead too.
            result.areAhead = try SettingTable.updateID(of: name, db).map { id > $0 } ?? true
        }
        for candidate in candidates.some {
            let (name, entry) = (candidate.name, candidate.entry)
            guard let standing = try SettingTable.updateID(of: name, db) else {
                if entry.content == nil, UpdateTime.isLongAgo(entry.updateID.milliseconds, now: now) {
                    result.bygone[name] = entry.updateID
                } else if entry.content != nil, let removal = bygone[name], removal > entry.updateID {
                    // Somebody who was away has it still.
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

    private func candidates(
        _ state: CompanionState, _ found: inout Findings, _ tally: CompanionTally
    ) -> Candidates {
        let now = access.sealing.now()
        var candidates = Candidates()
        for (name, entry) in state.entries.sorted(by: { $0.key < $1.key }) {
            guard let info = scope.participant(name) else {
                if !scope.knows(name) { found.unknownCount += 1 }
                continue
            }
            do throws(SettingsError) {
                if try isKnown(entry, info, now: now) {
                    candidates.some.append(Candidate(name: name, info: info, entry: entry))
                } else {
                    found.unknownCount += 1
                }
            } catch {
                if error.code == .clockAhead { candidates.ahead[name] = entry.updateID }
                note(error, info, state, &found, tally)
            }
        }
        return candidates
    }

    /// Whether an app of this version can read the value, as far as its bytes are not looked at.
    ///
    /// - Throws: ``SettingsError/Code/clockAhead``, ``SettingsError/Code/tooLarge``;
    ///   ``SettingsError/Code/migrationFailed`` for a catalog whose data wait.
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
        return true
    }

    /// Whether the bytes are a value of the key.
    private func isValue(
        _ candidate: Candidate, of state: CompanionState, _ found: inout Findings, _ tally: CompanionTally
    ) -> Bool {
        guard let content = candidate.entry.content else { return true }
        do {
            try candidate.info.check(content)
            return true
        } catch {
            note(candidate.info.decodingError(error), candidate.info, state, &found, tally)
            return false
        }
    }

    private func note(
        _ error: SettingsError, _ info: KeyInfo, _ state: CompanionState, _ found: inout Findings,
        _ tally: CompanionTally
    ) {
        found.hasProblems = true
        tally.add(CompanionStatus.Problem(device: state.device, key: info.publicName, code: error.code.rawValue))
    }
}
