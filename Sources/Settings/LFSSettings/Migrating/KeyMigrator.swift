import LFSDatabase
import LFSSystem
import Logging

/// The migration of values from earlier versions of the app. Its steps are: read, write, read back and compare, record,
/// remove the source.
///
/// If the process is killed between two steps, the value is in at least one place, and the next open continues. The
/// record is durable before the source is removed.
struct KeyMigrator: Sendable {
    let access: ValueAccess
    /// The versions of the app that have written the data, by the names of the catalogs. Catalogs without a recorded
    /// version are missing.
    let previousAppVersions: [String: String]
    let logger: Logger?

    private var entries: [Registry.Entry] {
        access.registry.all.filter { !$0.info.migrationSources.isEmpty && $0.info.availability.contains(.here) }
    }

    func isNeeded() async throws -> Bool {
        if entries.isEmpty { return false }
        let states = try await access.runner.read(MigrationTable.states)
        return entries.contains { states[$0.info.name]?.isDone != true }
    }

    /// Migrates all keys. Keys that cannot be migrated now are recorded as pending, and do not stop the others. The
    /// keys of a pending catalog are not migrated until it is.
    func run() async throws {
        let states = try await access.runner.read(MigrationTable.states)
        let waiting = Set(access.pending.catalogs)
        for entry in entries where states[entry.info.name]?.isDone != true && !waiting.contains(entry.catalog) {
            let (info, copied) = (entry.info, states[entry.info.name]?.sources)
            do {
                if let copied { try await removeSources(info, ids: copied) } else { try await migrate(entry) }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                let problem = Self.problem(error)
                // Once the migration is recorded, only the sources remain to be removed.
                if copied == nil { access.pending.add(info.name, problem: problem) }
                // Neither the message nor the cause of an error from a closure of the app is logged, because they may
                // quote a value.
                logger?.warning("The earlier value of \(info.publicName) has not been migrated yet: \(problem.code)")
            }
        }
    }

    private func migrate(_ entry: Registry.Entry) async throws {
        let info = entry.info
        let reader = MigrationReader(previousAppVersion: previousAppVersions[entry.catalog]) { [access] source in
            try await access.content(source.name, info: source)
        }
        let standing = try await access.content(info.name, info: info)
        guard let found = try await info.migrate(reader) else {
            if standing != nil { try await note(.done, info: info) }
            return
        }
        let isCopied = standing == nil ? try await copy(found, to: info) : false
        let present = try await access.content(info.name, info: info)
        if isCopied, present != found.content {
            throw SettingsError(
                .system, message: "The migrated value differs when it is read back. The source is kept.")
        }
        // An equal value was copied now or by an interrupted open. Without a value the app has removed the key. A
        // different value was set by the app.
        if let present, present != found.content { return try await note(.done, info: info) }
        let ids = [found.source.sourceID]
        try await note(.copied(from: ids), info: info)
        try await removeSources(info, ids: ids)
    }

    /// - Returns: true if the value is in its new place now. False if another value is there, which another router may
    ///   have set while the source was read, or if the key was removed.
    private func copy(_ found: MigratedValue, to info: KeyInfo) async throws -> Bool {
        info.domain.isDatabase
            ? try await copyToDatabase(found, info: info) : try await copyToStore(found.content, info: info)
    }

    private func copyToDatabase(_ found: MigratedValue, info: KeyInfo) async throws -> Bool {
        if info.security != .none { try await access.ring.load() }
        let name = info.name
        let copied = MigrationTable.State.copied(from: [found.source.sourceID])
        var access = access
        access.time = .before
        return try await access.write(isDurable: true) { batch in
            let (access, db) = (batch.access, batch.database)
            // A removal has left a record, now or earlier, and the value must not come back.
            if try MigrationTable.isNoted(name, db) || SettingTable.isRemovedOnPurpose(name, db) { return false }
            if try SettingTable.read(name, db) != nil { return false }
            try access.put(found.content, name: name, info: info, db)
            try MigrationTable.note(copied, of: name, now: access.now(), db)
            return true
        }
    }

    private func copyToStore(_ content: SerializedValue, info: KeyInfo) async throws -> Bool {
        let (access, name) = (access, info.name)
        if try await access.runner.read({ db in try MigrationTable.isNoted(name, db) }) { return false }
        let isCopied = ResultBox<Bool>()
        try await access.change(name, info: info) { read, keys in
            let isFree = try read() == nil
            isCopied.put(isFree)
            return isFree ? .put(try access.close(content, name: name, info: info, keys: keys)) : .keep
        }
        return isCopied.value == true
    }

    /// Removes the sources that were recorded as copied, and no others that the migration could read.
    private func removeSources(_ info: KeyInfo, ids: [String]) async throws {
        for source in info.migrationSources where ids.contains(source.sourceID) {
            do {
                try await remove(source)
            } catch let error as SettingsError where error.code == .readOnly {
                // A read-only source stays, and is not tried again.
                continue
            }
        }
        try await note(.done, info: info)
    }

    private func remove(_ source: KeyInfo) async throws {
        guard source.domain.isDatabase else {
            // A folder that was never used is not created for a removal.
            let store = try access.stores.store(for: source.domain)
            if let folder = store as? FileStore, try await !folder.isUsed() { return }
            return try await access.change(source.name, info: source, needsKeys: false) { _, _ in .remove }
        }
        try await access.runner.write { db in
            try SettingTable.remove(source.name, keepsNote: false, now: 0, time: .now, db)
        }
    }

    /// Records the state durably, because the source is removed on the basis of it.
    private func note(_ state: MigrationTable.State, info: KeyInfo) async throws {
        let (name, now) = (info.name, access.now())
        try await access.runner.writeDurably { db in try MigrationTable.note(state, of: name, now: now, db) }
    }

    /// Converts an error of a closure of the app without its content, which may quote a value.
    private static func problem(_ error: any Error) -> SettingsError {
        if let error = SettingsError.wrapping(error, key: nil) as? SettingsError { return error }
        return SettingsError(.migrationFailed, message: "A closure of the migration has thrown an error.")
    }
}
