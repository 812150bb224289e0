import GRDB
import LFSSystem

/// Reads and writes values of the database within a transaction.
struct TransactionAccess: Sendable {
    let registry: Registry
    let sealing: Sealing
    let pending: PendingMigrations
    /// Of a batch, which can be run again; nil in a transaction of the host's own.
    var needs: BatchNeeds?
    /// When what it writes counts as set.
    var time = SettingTable.Time.now

    func getIfPresent<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Value? {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            guard let stored = try SettingTable.read(key.name, db) else {
                try checkPending(key.name, db)
                return nil
            }
            return try key.value(of: try sealing.open(stored, key.name, info, try keys(info, db)))
        }
    }

    func set<Value>(_ value: Value, for key: StorageKey<Value>, _ db: Database) throws {
        let info = try usable(key)
        let content = try key.serialized(value)
        try SettingsError.catchingNow(info.publicName) {
            let stored = try sealing.close(content, key.name, info, try keys(info, db, mayMake: true))
            try SettingTable.write(key.name, stored, time, db)
        }
        noteDurability(of: info)
    }

    /// A removal counts for what a migration would bring, too.
    func remove<Value>(_ key: StorageKey<Value>, _ db: Database) throws {
        let info = try registered(key)
        try SettingsError.catchingNow(info.publicName) {
            try SettingTable.remove(key.name, keepsNote: info.sync != .never, now: sealing.now(), time, db)
            try Self.noteRemoved(info, now: sealing.now(), db)
        }
        noteDurability(of: info)
    }

    func exists<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Bool {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            if try SettingTable.contains(key.name, db) { return true }
            try checkPending(key.name, db)
            return false
        }
    }

    // MARK: Earlier keys

    /// The value of a key that no catalog has, by its own declaration.
    func legacy<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Value? {
        guard key.domain.isDatabase else { throw Self.notTransactional(key) }
        return try SettingsError.catchingNow(key.publicName) {
            guard let stored = try SettingTable.read(key.name, db) else { return nil }
            let info = key.info()
            return try key.value(of: try sealing.open(stored, key.name, info, try keys(info, db)))
        }
    }

    func removeLegacy<Value>(_ key: StorageKey<Value>, _ db: Database) throws {
        guard key.domain.isDatabase else { throw Self.notTransactional(key) }
        try SettingsError.catchingNow(key.publicName) {
            try SettingTable.remove(key.name, keepsNote: false, now: sealing.now(), time, db)
        }
    }

    /// Notes that nothing is to be taken over for a key any more: the next open removes the sources only.
    static func noteRemoved(_ info: KeyInfo, now: Int64, _ db: Database) throws {
        let sources = info.migrationKeys().map(\.sourceName)
        guard info.migrate != nil, !sources.isEmpty else { return }
        try MigrationTable.noteRemoved(info.name, sources, now: now, db)
    }

    // MARK: Parts

    private func registered<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        try Self.inDatabase(try registry.entry(of: key).info, key)
    }

    private func usable<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        let entry = try registry.entry(of: key)
        try pending.checkCatalog(entry.catalog, key.publicName)
        return try Self.inDatabase(entry.info, key)
    }

    private static func inDatabase<Value>(_ info: KeyInfo, _ key: StorageKey<Value>) throws -> KeyInfo {
        guard info.domain.isDatabase else { throw notTransactional(key) }
        return info
    }

    private func checkPending(_ name: String, _ db: Database) throws {
        guard let problem = pending.problem(name), try !MigrationTable.isNoted(name, db) else { return }
        throw problem
    }

    private func noteDurability(of info: KeyInfo) {
        if case .database(isDurable: true) = info.domain.kind { needs?.noteDurable() }
    }

    private static func notTransactional<Value>(_ key: StorageKey<Value>) -> SettingsError {
        SettingsError(
            .notTransactional,
            "\(key.publicName) is in \(key.domain), which takes no part in a transaction. Set it by itself.",
            key: key.publicName)
    }

    private func keys(_ info: KeyInfo, _ db: Database, mayMake: Bool = false) throws -> KeySet {
        guard info.security != .none else { return .none }
        if let needs, try sealing.ring.lacksKeys(db), needs.noteLackingKeys() { throw NoDataKey() }
        return try sealing.ring.keys(db, mayMake: mayMake)
    }
}
