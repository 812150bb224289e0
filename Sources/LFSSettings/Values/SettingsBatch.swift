public import GRDB

/// Reads and writes settings within one transaction of the database.
///
/// Keys of other domains than `.database` are ``SettingsError/Code/notTransactional``.
public struct SettingsBatch {
    /// The connection in its transaction, for rows of the app.
    public let database: Database
    let access: TransactionAccess

    /// The value, or the key's default.
    ///
    /// - Throws: ``SettingsError/Code/noValue`` without either; see ``StorageRouter/get(_:)``.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value { try key.orDefault(try getIfPresent(key)) }

    /// The value; nil when none is stored.
    ///
    /// - Throws: as ``StorageRouter/getIfPresent(_:)``.
    public func getIfPresent<Value>(_ key: StorageKey<Value>) throws -> Value? {
        try access.getIfPresent(key, database)
    }

    /// Whether a value is stored.
    ///
    /// - Throws: as ``StorageRouter/exists(_:)``.
    public func exists<Value>(_ key: StorageKey<Value>) throws -> Bool { try access.exists(key, database) }

    /// Stores a value.
    ///
    /// - Throws: as ``StorageRouter/set(_:for:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        try access.set(value, for: key, database)
    }

    /// Removes the value.
    ///
    /// - Throws: as ``StorageRouter/remove(_:)``.
    public func remove<Value>(_ key: StorageKey<Value>) throws { try access.remove(key, database) }

    /// Changes the value, or the key's default.
    ///
    /// - Throws: as ``get(_:)`` and ``set(_:for:)``; what the body throws.
    @discardableResult
    public func update<Value>(_ key: StorageKey<Value>, _ body: (inout Value) throws -> Void) throws -> Value {
        var value = try get(key)
        try body(&value)
        try set(value, for: key)
        return value
    }

    // MARK: Earlier keys

    /// The value of an earlier key, which is in no catalog, by its own declaration; nil when none is stored.
    ///
    /// - Throws: as ``getIfPresent(_:)``, but for registration.
    public func legacy<Value>(_ key: StorageKey<Value>) throws -> Value? { try access.legacy(key, database) }

    /// Removes the value of an earlier key.
    ///
    /// - Throws: the database's error.
    public func removeLegacy<Value>(_ key: StorageKey<Value>) throws { try access.removeLegacy(key, database) }
}
