import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

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

    // MARK: Transactions

    /// Runs a transaction. If it needs a data key that is not in memory, the keys are fetched and it runs again.
    ///
    /// - Parameters:
    ///   - isDurable: makes the commit durable. It is also made durable if the body changes a key of full durability.
    ///   - body: reads and writes through the batch that it receives, which notes what the commit needs.
    func write<Result: Sendable>(
        isDurable: Bool = false, _ body: @escaping @Sendable (SettingsBatch) throws -> Result
    ) async throws -> Result {
        let needs = BatchNeeds()
        var access = self
        access.needs = needs
        let transaction: @Sendable (Database) throws -> Result = { [access] db in
            let result = try body(SettingsBatch(database: db, access: access))
            // Also when the body continues without a value that it could not read.
            if needs.lacksKeys { throw NoDataKey() }
            return result
        }
        while true {
            do {
                if isDurable { return try await runner.writeDurably(transaction) }
                let result = try await runner.write(transaction)
                // A durable commit makes all earlier commits durable too.
                if needs.isDurable { try await runner.writeDurably { _ in } }
                return result
            } catch let error where needs.lacksKeys {
                if error is CancellationError { throw error }
                needs.runAgain(isLast: await !fetchKeys())
            }
        }
    }

    /// Returns false if no data key is available. The call that needs one throws.
    private func fetchKeys() async -> Bool {
        do { return try await !ring.keys().all.isEmpty } catch { return false }
    }

    func put(_ content: SerializedValue, name: String, info: KeyInfo, _ db: Database) throws {
        let keys = try keys(info, db, mayMake: true)
        try SettingTable.write(name, value: try close(content, name: name, info: info, keys: keys), time: time, db)
    }

    /// Records that no value is to be migrated to a key any more. The next open only removes the sources.
    func noteRemoved(_ info: KeyInfo, _ db: Database) throws {
        let sources = info.migrationSources.map(\.sourceID)
        if try sources.isEmpty || MigrationTable.isNoted(info.name, db) { return }
        try MigrationTable.note(.copied(from: sources), of: info.name, now: now(), db)
    }

    /// Removes the values and the data keys, cancels all migrations, and records that files and secrets still have to
    /// be removed. The records of catalogs and migrations are kept, so that no value of an earlier version comes back.
    func beginReset(_ db: Database) throws {
        try SettingTable.removeAll(db)
        try SettingKeyTable.removeAll(db)
        try SettingsStateTable.beginReset(db)
        for entry in registry.all { try noteRemoved(entry.info, db) }
    }

    /// Returns the data keys for a value, which a transaction of the app may make.
    func keys(_ info: KeyInfo, _ db: Database, mayMake: Bool = false) throws -> KeySet {
        guard info.security != .none else { return .none }
        if let needs, try ring.lacksKeys(db), needs.noteLackingKeys() { throw NoDataKey() }
        return try ring.keys(db, mayMake: mayMake)
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

/// The needs of a transaction that become known while it runs: a data key that is not in memory, or a durable commit.
///
/// One mutex owns its state.
final class BatchNeeds: Sendable {
    private struct State {
        var isDurable = false
        var lacksKeys = false
        var isLast = false
    }

    private let state = Mutex(State())

    var isDurable: Bool { state.withLock { $0.isDurable } }
    var lacksKeys: Bool { state.withLock { $0.lacksKeys } }

    func noteDurable() { state.withLock { $0.isDurable = true } }

    /// - Returns: true if the transaction has to be rolled back, and run again with the keys.
    func noteLackingKeys() -> Bool {
        state.withLock { state in
            if state.isLast { return false }
            state.lacksKeys = true
            return true
        }
    }

    /// - Parameter isLast: true if the next run uses only the keys that are available.
    func runAgain(isLast: Bool) { state.withLock { $0 = State(isLast: isLast) } }
}
