public import GRDB

/// Access to settings within one transaction of the database.
///
/// Keys of domains other than `.database` throw ``SettingsError/Code/notTransactional``.
public struct SettingsBatch {
    /// The connection within its transaction, for rows of the app.
    public let database: Database
    let access: ValueAccess

    /// Returns the value, or the key's default.
    ///
    /// - Throws: ``SettingsError/Code/noValue`` without either, and the errors of ``StorageRouter/get(_:)``.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value { try key.orDefault(try getIfPresent(key)) }

    /// Returns the value, or nil if none is stored.
    ///
    /// - Throws: the errors of ``StorageRouter/getIfPresent(_:)``.
    public func getIfPresent<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            guard let stored = try SettingTable.read(key.name, database) else {
                try checkPending(key.name)
                return nil
            }
            return try value(stored, of: key, info: info)
        }
    }

    /// Returns true if a value is stored.
    ///
    /// - Throws: the errors of ``StorageRouter/exists(_:)``.
    public func exists<Value>(_ key: StorageKey<Value>) throws -> Bool {
        let info = try usable(key)
        return try SettingsError.catchingNow(info.publicName) {
            if try SettingTable.row(key.name, database)?.isRemoved == false { return true }
            try checkPending(key.name)
            return false
        }
    }

    /// Stores a value.
    ///
    /// - Throws: the errors of ``StorageRouter/set(_:for:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        let info = try usable(key)
        let content = try key.serialized(value)
        try SettingsError.catchingNow(info.publicName) {
            try access.put(content, name: key.name, info: info, database)
        }
        if info.domain.isDurable { access.needs?.noteDurable() }
    }

    /// Removes the value, and cancels the migration that would restore it.
    ///
    /// - Throws: the errors of ``StorageRouter/remove(_:)``.
    public func remove<Value>(_ key: StorageKey<Value>) throws {
        // Also for a catalog whose data could not be migrated, because the removal may repair it.
        let info = try requireDatabase(try access.registry.entry(of: key).info)
        try remove(key.name, info: info, keepsNote: info.sync != .never)
        try SettingsError.catchingNow(info.publicName) { try access.noteRemoved(info, database) }
        if info.domain.isDurable { access.needs?.noteDurable() }
    }

    /// Changes the value, or the key's default.
    ///
    /// - Throws: the errors of ``get(_:)`` and ``set(_:for:)``, and those of the body.
    @discardableResult
    public func update<Value>(_ key: StorageKey<Value>, _ body: (inout Value) throws -> Void) throws -> Value {
        var value = try get(key)
        try body(&value)
        try set(value, for: key)
        return value
    }

    // MARK: Earlier keys

    /// Returns the value of an earlier key that is not in a catalog, or nil if none is stored. The given key defines
    /// how to read it.
    ///
    /// - Throws: the errors of ``getIfPresent(_:)`` except those about registration.
    public func legacy<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let info = try requireDatabase(key.info())
        return try SettingsError.catchingNow(key.publicName) {
            try SettingTable.read(key.name, database).flatMap { stored in try value(stored, of: key, info: info) }
        }
    }

    /// Removes the value of an earlier key.
    ///
    /// - Throws: the database's error.
    public func removeLegacy<Value>(_ key: StorageKey<Value>) throws {
        try remove(key.name, info: try requireDatabase(key.info()), keepsNote: false)
    }

    // MARK: Parts

    private func value<Value>(_ stored: StoredValue, of key: StorageKey<Value>, info: KeyInfo) throws -> Value? {
        let keys = try access.keys(info, database)
        return try key.value(of: try access.open(stored, name: key.name, info: info, keys: keys))
    }

    private func remove(_ name: String, info: KeyInfo, keepsNote: Bool) throws {
        try SettingsError.catchingNow(info.publicName) {
            try SettingTable.remove(name, keepsNote: keepsNote, now: access.now(), time: access.time, database)
        }
    }

    private func usable<Value>(_ key: StorageKey<Value>) throws -> KeyInfo {
        try requireDatabase(try access.registry.usable(key))
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

    private func checkPending(_ name: String) throws {
        guard let problem = access.pending.problem(name), try !MigrationTable.isNoted(name, database) else { return }
        throw problem
    }
}
