import LFSDatabase
import Logging

/// Takes over the values of earlier versions of the app: read, write, read back and compare, note, remove the source.
///
/// A kill between two of these leaves the value at one of the places at least, and the next open goes on. The note is
/// on the device before the source goes.
struct KeyMigrator: Sendable {
    let access: ValueAccess
    let previousAppVersion: String?
    let logger: Logger?

    private var keys: [KeyInfo] {
        access.registry.all.map(\.info).filter { $0.migrate != nil && $0.availability.contains(.here) }
    }

    /// Whether there is a key that was not migrated to the end.
    func isNeeded() async throws -> Bool {
        if keys.isEmpty { return false }
        let states = try await access.runner.read(MigrationTable.states)
        return keys.contains { states[$0.name]?.isDone != true }
    }

    /// Keys that cannot be migrated now are pending, and do not keep the others.
    func run() async throws {
        access.pending.clear()
        let states = try await access.runner.read(MigrationTable.states)
        for info in keys where states[info.name]?.isDone != true {
            do {
                try await migrate(info, copiedFrom: states[info.name]?.sources)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                let problem = Self.problem(error)
                access.pending.add(info.name, problem)
                // Neither the message nor the cause of a closure of the app: they may quote a value.
                logger?.warning("The earlier value of \(info.publicName) is not taken over yet: \(problem.code)")
            }
        }
    }

    private func migrate(_ info: KeyInfo, copiedFrom copied: [String]?) async throws {
        if let copied { return try await removeSources(info, copied) }
        let sources = MigrationSources(previousAppVersion: previousAppVersion) { [access] source in
            try await access.content(source.name, source)
        }
        let standing = try await access.content(info.name, info)
        guard let found = try await info.migrate?(sources) else {
            if standing != nil { try await note(.done, info) }
            return
        }
        if let standing {
            // Equal, it was copied by an open that did not come to its end. Else the app has set it.
            return standing == found.content ? try await end(info, found.sources) : try await note(.done, info)
        }
        try await copy(found, to: info)
        try await end(info, found.sources)
    }

    private func copy(_ found: MigratedValue, to info: KeyInfo) async throws {
        let (access, name, content) = (access, info.name, found.content)
        let copied = MigrationTable.State.copied(from: found.sources.map(\.sourceName))
        let keys = access.sealing.access(for: info)
        if case .ring(let ring) = keys { try await ring.load() }
        if info.domain.isDatabase {
            try await access.runner.writeDurably { db in
                try DatabaseStore.update(name, keys: keys, keepsNote: false, now: access.sealing.now(), db) { _, keys in
                    .put(try access.sealing.close(content, name, info, keys))
                }
                try MigrationTable.note(copied, of: name, now: access.sealing.now(), db)
            }
        } else {
            try await access.stores.store(for: info.domain).update(name, keys: keys) { _, keys in
                .put(try access.sealing.close(content, name, info, keys))
            }
        }
        guard try await access.content(name, info) == content else {
            throw SettingsError(.system, "The migrated value reads otherwise than it was written. The source is kept.")
        }
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
