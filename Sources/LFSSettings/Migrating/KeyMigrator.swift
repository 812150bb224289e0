import LFSDatabase
import Logging

/// Takes over the values of earlier versions of the app: read, write, read back and compare, note, remove the source.
///
/// A kill between two of these leaves the value at one of the places at least, and the next open goes on. The note is
/// on the device before the source goes.
struct KeyMigrator: Sendable {
    let access: ValueAccess
    /// By the names of the catalogs; none for one whose data no version has signed.
    let previousAppVersions: [String: String]
    let logger: Logger?

    private var entries: [Registry.Entry] {
        access.registry.all.filter { $0.info.migrate != nil && $0.info.availability.contains(.here) }
    }

    /// Whether there is a key that was not migrated to the end.
    func isNeeded() async throws -> Bool {
        if entries.isEmpty { return false }
        let states = try await access.runner.read(MigrationTable.states)
        return entries.contains { states[$0.info.name]?.isDone != true }
    }

    /// Keys that cannot be migrated now are pending, and do not keep the others. Those of a catalog whose data have an
    /// earlier version wait with it.
    func run() async throws {
        let states = try await access.runner.read(MigrationTable.states)
        let waiting = Set(access.pending.catalogs)
        for entry in entries where states[entry.info.name]?.isDone != true && !waiting.contains(entry.catalog) {
            let (info, copied) = (entry.info, states[entry.info.name]?.sources)
            do {
                if let copied { try await removeSources(info, copied) } else { try await migrate(entry) }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                let problem = Self.problem(error)
                // Once it is noted, only the sources are left to go.
                if copied == nil { access.pending.add(info.name, problem) }
                // Neither the message nor the cause of a closure of the app: they may quote a value.
                logger?.warning("The earlier value of \(info.publicName) is not taken over yet: \(problem.code)")
            }
        }
    }

    private func migrate(_ entry: Registry.Entry) async throws {
        let info = entry.info
        let sources = MigrationSources(previousAppVersion: previousAppVersions[entry.catalog]) { [access] source in
            try await access.content(source.name, source)
        }
        let standing = try await access.content(info.name, info)
        guard let found = try await info.migrate?(sources) else {
            if standing != nil { try await note(.done, info) }
            return
        }
        if let standing { return try await keep(standing, info, found) }
        // Another router may have set it while the sources were read.
        guard try await !copy(found, to: info), let standing = try await access.content(info.name, info) else {
            return try await end(info, found.sources)
        }
        try await keep(standing, info, found)
    }

    /// Equal, it was copied by an open that did not come to its end. Else the app has set it.
    private func keep(_ standing: SerializedValue, _ info: KeyInfo, _ found: MigratedValue) async throws {
        if standing == found.content { try await end(info, found.sources) } else { try await note(.done, info) }
    }

    /// - Returns: whether the value is at its new place now; false when another one stands there.
    private func copy(_ found: MigratedValue, to info: KeyInfo) async throws -> Bool {
        let (access, name, content) = (access, info.name, found.content)
        let copied = MigrationTable.State.copied(from: found.sources.map(\.sourceName))
        let keys = access.sealing.access(for: info)
        let isCopied = Box<Bool>()
        let change: @Sendable (ValueReader, KeySet) throws -> StoredChange = { read, keys in
            let isFree = try read() == nil
            isCopied.put(isFree)
            return isFree ? .put(try access.sealing.close(content, name, info, keys)) : .keep
        }
        if info.domain.isDatabase {
            try await keys.retrying {
                try await access.runner.writeDurably { db in
                    // A removal, meanwhile or before, has left a note: the value is not to come back.
                    let isRemoved =
                        try MigrationTable.isNoted(name, db) || SettingTable.isRemovedOnPurpose(name, db)
                    guard !isRemoved else { return isCopied.put(false) }
                    try DatabaseStore.update(
                        name, keys: keys, keepsNote: false, now: access.sealing.now(), .before, db, change)
                    guard try isCopied.get() else { return }
                    try MigrationTable.note(copied, of: name, now: access.sealing.now(), db)
                }
            }
        } else {
            if try await access.runner.read({ db in try MigrationTable.isNoted(name, db) }) { return false }
            try await access.stores.store(for: info.domain).update(name, keys: keys, change)
        }
        guard try isCopied.get() else { return false }
        guard try await access.content(name, info) == content else {
            throw SettingsError(.system, "The migrated value reads otherwise than it was written. The source is kept.")
        }
        return true
    }

    private func end(_ info: KeyInfo, _ sources: [KeyInfo]) async throws {
        let names = sources.map(\.sourceName)
        try await note(.copied(from: names), info)
        try await removeSources(info, names)
    }

    /// Those that were noted as copied, and no others that the migration might read.
    private func removeSources(_ info: KeyInfo, _ names: [String]) async throws {
        for source in info.migrationKeys() where names.contains(source.sourceName) {
            do {
                try await access.stores.store(for: source.domain).update(source.name, keys: .none) { _, _ in .remove }
            } catch let error as SettingsError where error.code == .readOnly {
                // A source that cannot be written stays, and is not asked again.
                continue
            }
        }
        try await note(.done, info)
    }

    /// On the device when it returns: the source goes on the strength of it.
    private func note(_ state: MigrationTable.State, _ info: KeyInfo) async throws {
        let (name, now) = (info.name, access.sealing.now())
        try await access.runner.writeDurably { db in try MigrationTable.note(state, of: name, now: now, db) }
    }

    /// What a closure of the app has thrown may quote a value, so nothing of it is kept.
    private static func problem(_ error: any Error) -> SettingsError {
        if let error = SettingsError.wrapping(error, nil) as? SettingsError { return error }
        return SettingsError(.migrationFailed, "A closure of the migration has thrown an error.")
    }
}
