import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// Reads and writes values in whatever domain.
struct ValueAccess: Sendable {
    let registry: Registry
    let runner: BackgroundRunner
    let stores: StoreSet
    let sealing: Sealing
    let pending: PendingMigrations
    let resets: SettingsReset
    let hub: ChangeHub

    var transaction: TransactionAccess {
        TransactionAccess(registry: registry, sealing: sealing, pending: pending)
    }

    /// Runs a body for a key. The id of a family's member is in no error, as part of a file's name neither.
    @discardableResult
    func catching<Result>(
        _ info: KeyInfo, _ name: String, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await SettingsError.catching(info.publicName, body)
        } catch let error as SettingsError where info.isFamily {
            throw error.hiding([FileName.of(name), name])
        }
    }

    // MARK: Reading

    func getIfPresent<Value>(_ key: StorageKey<Value>) async throws -> Value? {
        let info = try usable(key)
        return try await catching(info, key.name) {
            guard let content = try await content(key.name, info) else {
                try await checkPending(key.name)
                return nil
            }
            return try key.value(of: content)
        }
    }

    func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        let info = try usable(key)
        return try await catching(info, key.name) {
            do {
                if try await stored(key.name, info) != nil { return true }
            } catch let error as SettingsError where error.code == .corrupted || error.code == .newerValue {
                // Something is there, whatever it is.
                return true
            }
            try await checkPending(key.name)
            return false
        }
    }

    /// What is registered for a key of a catalog whose data have its version.
    ///
    /// - Throws: as `Registry.entry(of:)`; ``SettingsError/Code/migrationFailed``.
    func usable<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        let entry = try registry.entry(of: key)
        try pending.checkCatalog(entry.catalog, entry.info.publicName)
        return entry.info
    }

    /// - Throws: ``SettingsError/Code/migrationPending`` when nothing stands at the key's place, and something might.
    func checkPending(_ name: String) async throws {
        if let problem = try await notedProblem(name) { throw problem }
    }

    private func notedProblem(_ name: String) async throws -> SettingsError? {
        guard let problem = pending.problem(name) else { return nil }
        return try await runner.read { db in try MigrationTable.isNoted(name, db) } ? nil : problem
    }

    /// Keys whose earlier value could not be taken over yet, with what to say of it.
    func pendingProblems() async throws -> [String: SettingsError] {
        let problems = pending.names.compactMap { name in pending.problem(name).map { (name, $0) } }
        if problems.isEmpty { return [:] }
        let noted = try await runner.read(MigrationTable.states)
        return Dictionary(problems.filter { noted[$0.0] == nil }, uniquingKeysWith: { first, _ in first })
    }

    /// What is stored under a name, opened.
    func content(_ name: String, _ info: KeyInfo) async throws -> SerializedValue? {
        guard let stored = try await stored(name, info) else { return nil }
        guard info.security != .none else { return stored.content }
        return try sealing.open(stored, name, info, try await keys(for: stored.content.bytes))
    }

    private func stored(_ name: String, _ info: KeyInfo) async throws -> StoredValue? {
        let store = try stores.store(for: info.domain)
        if let place = store.resetPlace { try await resets.finish(place) }
        return try await store.read(name)
    }

    /// The key of an envelope from memory where it is there, and else all that the database has now.
    private func keys(for envelope: Data) async throws -> KeySet {
        if Envelope.isEnvelope(envelope), let set = sealing.ring.cached(try Envelope.header(of: envelope).keyID) {
            return set
        }
        return try await sealing.ring.keys()
    }

    // MARK: Writing

    func set<Value>(_ value: Value, for key: StorageKey<Value>) async throws {
        let info = try usable(key)
        let content = try key.serialized(value)
        try await change(key, info) { _, keys in
            .put(try sealing.close(content, key.name, info, keys))
        }
    }

    func remove<Value>(_ key: StorageKey<Value>) async throws {
        // Also of a catalog whose data could not be brought to its version: that may be what mends it.
        let info = try registry.entry(of: key).info
        guard info.domain.isDatabase else {
            try await change(key, info, needsKeys: false) { _, _ in .remove }
            if info.migrate != nil {
                let now = sealing.now()
                try await runner.writeDurably { db in try TransactionAccess.noteRemoved(info, now: now, db) }
            }
            return
        }
        let access = transaction
        try await catching(info, key.name) {
            if case .database(isDurable: true) = info.domain.kind {
                try await runner.writeDurably { db in try access.remove(key, db) }
            } else {
                try await runner.write { db in try access.remove(key, db) }
            }
        }
    }

    func update<Value>(
        _ key: StorageKey<Value>, _ body: @escaping @Sendable (inout Value) throws -> Void
    ) async throws -> Value {
        let info = try usable(key)
        let (sealing, problem) = (sealing, try await notedProblem(key.name))
        let result = Box<Value>()
        try await change(key, info) { read, keys in
            var old: Value?
            if let stored = try read() {
                old = try key.value(of: try sealing.open(stored, key.name, info, keys))
            } else if let problem {
                throw problem
            }
            var value = try key.orDefault(old)
            try body(&value)
            result.put(value)
            return .put(try sealing.close(try key.serialized(value), key.name, info, keys))
        }
        return try result.get()
    }

    private func change<Value>(
        _ key: StorageKey<Value>, _ info: KeyInfo, needsKeys: Bool = true,
        _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        try await catching(info, key.name) {
            let store = try stores.store(for: info.domain)
            // What is written now must not go with a removal of before.
            if let place = store.resetPlace { try await resets.finish(place) }
            // The database tells of its own changes. Of others also when they failed: a file may have been replaced,
            // and the folder could not be synced.
            defer { if !info.domain.isDatabase { hub.notify([key.name]) } }
            try await store.update(key.name, keys: needsKeys ? sealing.access(for: info) : .none, body)
        }
    }

    /// Removes all rows, and what migrations would bring; files and secrets follow.
    func beginReset(_ db: Database) throws {
        try SettingsReset.begin(db)
        for entry in registry.all { try TransactionAccess.noteRemoved(entry.info, now: sealing.now(), db) }
    }
}
