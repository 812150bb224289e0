import Foundation
import LFSDatabase
import LFSSystem

struct ValueAccess: Sendable {
    let registry: Registry
    let runner: BackgroundRunner
    let stores: StoreSet
    let ring: KeyRing
    let resets: SettingsReset
    let hub: ChangeHub
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    /// The needs of a transaction that can be run again. Nil in a transaction of the app.
    var needs: BatchNeeds?
    /// The time that a transaction records for the values that it writes.
    var time = SettingTable.Time.now

    var pending: PendingMigrations { registry.pending }

    /// - Throws: ``SettingsError/Code/migrationPending`` when the key has no value and its earlier value may still
    ///   exist.
    func checkPending(_ name: String) async throws {
        guard let problem = pending.problem(name) else { return }
        if try await !runner.read({ db in try MigrationTable.isNoted(name, db) }) { throw problem }
    }

    /// Returns the keys whose earlier value could not be migrated yet, with their errors.
    func pendingProblems() async throws -> [String: SettingsError] {
        let problems = pending.names.compactMap { name in pending.problem(name).map { (name, $0) } }
        if problems.isEmpty { return [:] }
        let noted = try await runner.read(MigrationTable.states)
        return Dictionary(problems.filter { noted[$0.0] == nil }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the stored value of a name, decrypted.
    func content(_ name: String, info: KeyInfo) async throws -> SerializedValue? {
        guard let stored = try await stored(name, info: info) else { return nil }
        guard info.security != .none else { return stored.content }
        return try open(stored, name: name, info: info, keys: try await keys(for: stored.content.bytes))
    }

    /// Returns the stored value of a name, which may be encrypted.
    func stored(_ name: String, info: KeyInfo) async throws -> StoredValue? {
        if info.domain.isDatabase { return try await runner.read { db in try SettingTable.read(name, db) } }
        let store = try stores.store(for: info.domain)
        if let place = store.resetPlace { try await resets.finish(place) }
        return try await store.read(name)
    }

    /// Returns the cached key of an envelope, or otherwise all keys that are now in the database.
    private func keys(for envelope: Data) async throws -> KeySet {
        if Envelope.isEnvelope(envelope), let set = ring.cached(try Envelope.header(of: envelope).keyID) { return set }
        return try await ring.keys()
    }

    func change(
        _ name: String, info: KeyInfo, needsKeys: Bool = true,
        _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let store = try stores.store(for: info.domain)
        // A value that is written now must not be deleted by an earlier removal of all values.
        if let place = store.resetPlace { try await resets.finish(place) }
        // Observers are notified after a failure too: a file may have been replaced although its folder could not be
        // synced.
        defer { hub.notify([name]) }
        try await store.update(name, ring: needsKeys && info.security != .none ? ring : nil, body)
    }

    // MARK: Encryption

    /// Returns the value to store, encrypted if the key requires it.
    func close(_ content: SerializedValue, name: String, info: KeyInfo, keys: KeySet) throws -> StoredValue {
        let value = StoredValue(content, updatedAt: now())
        guard let suite = info.security.suite else { return value }
        return value.with(
            bytes: try keys.close(
                content.bytes, suite: suite, for: context(name, domain: info.domain, content: content)))
    }

    /// Returns the content of a stored value, decrypted if the key is encrypted.
    func open(_ value: StoredValue, name: String, info: KeyInfo, keys: KeySet) throws -> SerializedValue {
        guard info.security != .none else { return value.content }
        guard Envelope.isEnvelope(value.content.bytes) else { throw Self.plain }
        let context = context(name, domain: info.domain, content: value.content)
        return value.with(bytes: try keys.open(value.content.bytes, for: context)).content
    }

    func context(_ name: String, domain: StorageDomain, content: SerializedValue) -> EnvelopeContext {
        EnvelopeContext(
            installID: ring.installID, domain: domain.word, name: name, serializer: content.serializer,
            version: content.version)
    }

    private static var plain: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The stored value is not encrypted, although the key is declared as encrypted. Another program has \
                written it, or the key was a plain one. It is left unchanged. Set or remove the key, or give it \
                another name and migrate the value from the plain key.
                """)
    }
}
