import GRDB
import LFSSystem

/// Reads and writes values of the database within a transaction.
struct TransactionAccess: Sendable {
    let registry: Registry
    let sealing: Sealing
    let pending: PendingMigrations

    func getIfPresent<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Value? {
        let info = try info(key)
        return try SettingsError.catchingNow(info.publicName) {
            guard let stored = try SettingTable.read(key.name, db) else {
                try pending.check(key.name)
                return nil
            }
            return try key.value(of: try sealing.open(stored, key.name, info, try keys(info, db)))
        }
    }

    func set<Value>(_ value: Value, for key: StorageKey<Value>, _ db: Database) throws {
        let info = try info(key)
        let content = try key.serialized(value)
        try SettingsError.catchingNow(info.publicName) {
            let stored = try sealing.close(content, key.name, info, try keys(info, db, mayMake: true))
            try SettingTable.write(key.name, stored, db)
        }
    }

    func remove<Value>(_ key: StorageKey<Value>, _ db: Database) throws {
        let info = try info(key)
        try SettingsError.catchingNow(info.publicName) {
            try SettingTable.remove(key.name, keepsNote: info.sync != .never, now: sealing.now(), db)
        }
    }

    func exists<Value>(_ key: StorageKey<Value>, _ db: Database) throws -> Bool {
        let info = try info(key)
        return try SettingsError.catchingNow(info.publicName) {
            if try SettingTable.contains(key.name, db) { return true }
            try pending.check(key.name)
            return false
        }
    }

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
            try SettingTable.remove(key.name, keepsNote: false, now: sealing.now(), db)
        }
    }

    private func info<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        let info = try registry.info(of: key)
        guard info.domain.isDatabase else { throw Self.notTransactional(key) }
        return info
    }

    private static func notTransactional<Value>(_ key: StorageKey<Value>) -> SettingsError {
        SettingsError(
            .notTransactional,
            "\(key.publicName) is in \(key.domain), which takes no part in a transaction. Set it by itself.",
            key: key.publicName)
    }

    private func keys(_ info: KeyInfo, _ db: Database, mayMake: Bool = false) throws -> KeySet {
        info.security == .none ? .none : try sealing.ring.keys(db, mayMake: mayMake)
    }
}
