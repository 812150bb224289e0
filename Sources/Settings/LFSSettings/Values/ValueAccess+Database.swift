import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

/// Access to values in the database, within a transaction.
extension ValueAccess {
    /// Runs a transaction. If it needs a data key that is not in memory, the keys are fetched and it runs again.
    ///
    /// - Parameters:
    ///   - isDurable: makes the commit durable. It is also made durable if the body changes a key of full durability.
    ///   - body: uses the access that it receives.
    func write<Result: Sendable>(
        isDurable: Bool = false, _ body: @escaping @Sendable (ValueAccess, Database) throws -> Result
    ) async throws -> Result {
        let needs = BatchNeeds()
        var access = self
        access.needs = needs
        let transaction: @Sendable (Database) throws -> Result = { [access] db in
            let result = try body(access, db)
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

    func getIfPresent<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Value? {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            guard let stored = try SettingTable.read(key.name, db) else {
                try checkPending(key.name, db)
                return nil
            }
            return try key.value(of: try open(stored, name: key.name, info: info, keys: try keys(info, db)))
        }
    }

    func set<Value>(_ value: Value, for key: StorageKey<Value>, _ db: Database) throws {
        let info = try usable(key)
        let content = try key.serialized(value)
        try SettingsError.catchingNow(info.publicName) { try put(content, name: key.name, info: info, db) }
        if info.domain.isDurable { needs?.noteDurable() }
    }

    /// Stores a serialized value.
    func put(_ content: SerializedValue, name: String, info: KeyInfo, _ db: Database) throws {
        let keys = try keys(info, db, mayMake: true)
        try SettingTable.write(name, value: try close(content, name: name, info: info, keys: keys), time: time, db)
    }

    func update<Value>(
        _ key: StorageKey<Value>, _ db: Database, _ body: (inout Value) throws -> Void
    ) throws -> Value {
        var value = try key.orDefault(try getIfPresent(key, db))
        try body(&value)
        try set(value, for: key, db)
        return value
    }

    /// Removes the value, and cancels the migration that would restore it.
    func remove<Value>(_ key: StorageKey<Value>, _ db: Database) throws {
        // Also for a catalog whose data could not be migrated, because the removal may repair it.
        let info = try requireDatabase(try registry.entry(of: key).info)
        try SettingsError.catchingNow(info.publicName) {
            try SettingTable.remove(key.name, keepsNote: info.sync != .never, now: now(), time: time, db)
            try noteRemoved(info, db)
        }
        if info.domain.isDurable { needs?.noteDurable() }
    }

    func exists<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Bool {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            if try SettingTable.contains(key.name, db) { return true }
            try checkPending(key.name, db)
            return false
        }
    }

    /// Records that no value is to be migrated to a key any more. The next open only removes the sources.
    func noteRemoved(_ info: KeyInfo, _ db: Database) throws {
        let sources = info.migrationKeys().map(\.sourceName)
        guard info.migrate != nil, !sources.isEmpty else { return }
        try MigrationTable.noteRemoved(info.name, sources: sources, now: now(), db)
    }

    /// Removes all rows, and cancels all migrations. Files and secrets are removed later.
    func beginReset(_ db: Database) throws {
        try SettingsReset.begin(db)
        for entry in registry.all { try noteRemoved(entry.info, db) }
    }

    // MARK: Earlier keys

    /// Returns the value of a key that is not in a catalog. The given key defines how to read it.
    func legacy<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Value? {
        let info = try requireDatabase(key.info())
        return try SettingsError.catchingNow(key.publicName) {
            guard let stored = try SettingTable.read(key.name, db) else { return nil }
            return try key.value(of: try open(stored, name: key.name, info: info, keys: try keys(info, db)))
        }
    }

    func removeLegacy<Value>(_ key: StorageKey<Value>, _ db: Database) throws {
        _ = try requireDatabase(key.info())
        try SettingsError.catchingNow(key.publicName) {
            try SettingTable.remove(key.name, keepsNote: false, now: now(), time: time, db)
        }
    }

    // MARK: Parts

    /// Returns the data keys for a value, which a transaction of the app may make.
    func keys(_ info: KeyInfo, _ db: Database, mayMake: Bool = false) throws -> KeySet {
        guard info.security != .none else { return .none }
        if let needs, try ring.lacksKeys(db), needs.noteLackingKeys() { throw NoDataKey() }
        return try ring.keys(db, mayMake: mayMake)
    }

    private func usable<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        try requireDatabase(try registry.usable(key))
    }

    private func requireDatabase(_ info: KeyInfo) throws -> KeyInfo {
        guard info.domain.isDatabase else {
            throw SettingsError(
                .notTransactional,
                message: """
                    \(info.publicName) is in \(info.domain), which does not take part in transactions. Set it \
                    separately.
                    """,
                key: info.publicName)
        }
        return info
    }

    private func checkPending(_ name: String, _ db: Database) throws {
        guard let problem = pending.problem(name), try !MigrationTable.isNoted(name, db) else { return }
        throw problem
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
