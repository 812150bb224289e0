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
    /// - Throws: ``SettingsError/Code/noValue`` without either; the errors of ``StorageRouter/get(_:)``.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value { try key.orDefault(try getIfPresent(key)) }

    /// Returns the value, or nil if none is stored.
    ///
    /// - Throws: the errors of ``StorageRouter/getIfPresent(_:)``.
    public func getIfPresent<Value>(_ key: StorageKey<Value>) throws -> Value? {
        try access.getIfPresent(key, database)
    }

    /// Returns true if a value is stored.
    ///
    /// - Throws: the errors of ``StorageRouter/exists(_:)``.
    public func exists<Value>(_ key: StorageKey<Value>) throws -> Bool { try access.exists(key, database) }

    /// Stores a value.
    ///
    /// - Throws: the errors of ``StorageRouter/set(_:for:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        try access.set(value, for: key, database)
    }

    /// Removes the value.
    ///
    /// - Throws: the errors of ``StorageRouter/remove(_:)``.
    public func remove<Value>(_ key: StorageKey<Value>) throws { try access.remove(key, database) }

    /// Changes the value, or the key's default.
    ///
    /// - Throws: the errors of ``get(_:)`` and ``set(_:for:)``, and those of the body.
    @discardableResult
    public func update<Value>(_ key: StorageKey<Value>, _ body: (inout Value) throws -> Void) throws -> Value {
        try access.update(key, database, body)
    }

    // MARK: Earlier keys

    /// Returns the value of an earlier key that is not in a catalog, or nil if none is stored. The given key defines
    /// how to read it.
    ///
    /// - Throws: the errors of ``getIfPresent(_:)`` except those about registration.
    public func legacy<Value>(_ key: StorageKey<Value>) throws -> Value? { try access.legacy(key, database) }

    /// Removes the value of an earlier key.
    ///
    /// - Throws: the database's error.
    public func removeLegacy<Value>(_ key: StorageKey<Value>) throws { try access.removeLegacy(key, database) }
}
