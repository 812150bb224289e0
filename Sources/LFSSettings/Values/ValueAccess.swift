import Foundation
import LFSDatabase
import LFSSystem

/// Reads and writes values in whatever domain.
struct ValueAccess: Sendable {
    let registry: Registry
    let runner: BackgroundRunner
    let stores: StoreSet
    let sealing: Sealing
    let pending: PendingMigrations
    let resets: ResetFlag
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
        let info = try registry.info(of: key)
        return try await catching(info, key.name) {
            guard let content = try await content(key.name, info) else {
                try pending.check(key.name)
                return nil
            }
            return try key.value(of: content)
        }
    }

    func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        let info = try registry.info(of: key)
        return try await catching(info, key.name) {
            if try await stored(key.name, info) != nil { return true }
            try pending.check(key.name)
            return false
        }
    }

    /// What is stored under a name, opened.
    func content(_ name: String, _ info: KeyInfo) async throws -> SerializedValue? {
        guard let stored = try await stored(name, info) else { return nil }
        guard info.security != .none else { return stored.content }
        return try sealing.open(stored, name, info, try await keys(for: stored.content.bytes))
    }

    private func stored(_ name: String, _ info: KeyInfo) async throws -> StoredValue? {
        let store = try stores.store(for: info.domain)
        if !info.domain.isDatabase { try await resets.finish() }
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
        let info = try registry.info(of: key)
        let content = try key.serialized(value)
        try await change(key, info) { _, keys in
            .put(try sealing.close(content, key.name, info, keys))
        }
    }

    func remove<Value>(_ key: StorageKey<Value>) async throws {
        let info = try registry.info(of: key)
        guard info.domain.isDatabase else { return try await change(key, info, needsKeys: false) { _, _ in .remove } }
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
        let info = try registry.info(of: key)
        let (sealing, pending) = (sealing, pending)
        let result = Box<Value>()
        try await change(key, info) { read, keys in
            var old: Value?
            if let stored = try read() {
                old = try key.value(of: try sealing.open(stored, key.name, info, keys))
            } else {
                try pending.check(key.name)
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
            if !info.domain.isDatabase {
                // Another process may have reset without a word: what is written now must not go with it.
                resets.raise()
                try await resets.finish()
            }
            try await store.update(key.name, keys: needsKeys ? sealing.access(for: info) : .none, body)
        }
        // The database tells of its own changes, this one among them.
        if !info.domain.isDatabase { hub.notify([key.name]) }
    }
}
