public import GRDB
import LFSDatabase
import LFSSystem

extension StorageRouter {
    /// Returns the value, or the key's default.
    ///
    /// - Throws: ``SettingsError/Code/noValue`` when no value is stored and the key has no default,
    ///   ``SettingsError/Code/unregistered``, ``SettingsError/Code/unavailable``,
    ///   ``SettingsError/Code/migrationPending``, ``SettingsError/Code/folderAbsent``, and errors of the system and the
    ///   database. A stored value that cannot be read is kept, and the error is ``SettingsError/Code/undecodable``,
    ///   ``SettingsError/Code/otherSerializer``, ``SettingsError/Code/newerValue`` or
    ///   ``SettingsError/Code/corrupted``. For secrets, the error may also be ``SettingsError/Code/keyMissing``,
    ///   ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked`` or ``SettingsError/Code/keychainReplaced``.
    public nonisolated func get<Value>(_ key: StorageKey<Value>) async throws -> Value {
        try key.orDefault(try await getIfPresent(key))
    }

    /// Returns the stored value, or the given one in place of the key's default.
    ///
    /// - Throws: the errors of ``get(_:)`` except `noValue`.
    public nonisolated func get<Value>(_ key: StorageKey<Value>, default value: Value) async throws -> Value {
        try await getIfPresent(key) ?? value
    }

    /// Returns the stored value, or nil if no value is stored. The key's default is not used.
    ///
    /// - Throws: the errors of ``get(_:)`` except `noValue`.
    public nonisolated func getIfPresent<Value>(_ key: StorageKey<Value>) async throws -> Value? {
        let info = try access.registry.usable(key)
        return try await info.catching(name: key.name) {
            guard let content = try await access.content(key.name, info: info) else {
                try await access.checkPending(key.name)
                return nil
            }
            return try key.value(of: content)
        }
    }

    /// Returns true if a value is stored, even one that cannot be read.
    ///
    /// - Throws: the errors of ``get(_:)`` except those about the value itself.
    public nonisolated func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        let info = try access.registry.usable(key)
        return try await info.catching(name: key.name) {
            if info.domain.isDatabase {
                return try await access.runner.read { [access] db in
                    try SettingsBatch(database: db, access: access).exists(key)
                }
            }
            do {
                if try await access.stored(key.name, info: info) != nil { return true }
            } catch let error as SettingsError where error.code == .corrupted || error.code == .newerValue {
                // Something is stored, even though it cannot be read.
                return true
            }
            try await access.checkPending(key.name)
            return false
        }
    }

    /// Stores a value, and replaces the stored one even if that cannot be read.
    ///
    /// - Throws: ``SettingsError/Code/tooLarge`` and ``SettingsError/Code/unencodable``, before anything is written.
    ///   ``SettingsError/Code/noSpace``. Otherwise the errors of ``get(_:)``. After an error the former value is still
    ///   stored, with one exception. If a file was replaced and its folder could not be synced
    ///   (``SettingsError/Code/system``), the new value is stored, and a power failure may lose it.
    public nonisolated func set<Value>(_ value: Value, for key: StorageKey<Value>) async throws {
        let (access, info) = (access, try access.registry.usable(key))
        try await info.catching(name: key.name) {
            if info.domain.isDatabase {
                return try await write(info) { batch in try batch.set(value, for: key) }
            }
            let content = try key.serialized(value)
            try await access.change(key.name, info: info) { _, keys in
                .put(try access.close(content, name: key.name, info: info, keys: keys))
            }
        }
    }

    /// Removes the value, even one that cannot be read, and cancels a pending migration of the key. The removal of a
    /// synced key also removes values that other devices set earlier, even if no value is stored on this device.
    ///
    /// - Throws: the errors of ``set(_:for:)``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>) async throws {
        // Also for a catalog whose data could not be migrated, because the removal may repair it.
        let (access, info) = (access, try access.registry.entry(of: key).info)
        try await info.catching(name: key.name) {
            if info.domain.isDatabase {
                return try await access.write(isDurable: info.domain.isDurable) { try $0.remove(key) }
            }
            try await access.change(key.name, info: info, needsKeys: false) { _, _ in .remove }
            guard !info.migrationSources.isEmpty else { return }
            try await access.runner.writeDurably { db in try access.noteRemoved(info, db) }
        }
    }

    /// Changes the value, or the key's default, in one step that no other task or process can interrupt.
    ///
    /// - Parameters:
    ///   - key: the key of the value.
    ///   - body: changes the value and nothing else, because it may run twice.
    /// - Returns: the new value.
    /// - Throws: the errors of ``get(_:)`` and ``set(_:for:)``, and those of the body. Nothing is changed when the body
    ///   throws.
    @discardableResult
    public nonisolated func update<Value>(
        _ key: StorageKey<Value>, _ body: @escaping @Sendable (inout Value) throws -> Void
    ) async throws -> Value {
        let (access, info) = (access, try access.registry.usable(key))
        return try await info.catching(name: key.name) {
            if info.domain.isDatabase {
                return try await write(info) { batch in try batch.update(key, body) }
            }
            let problem = try await access.pendingProblems()[key.name]
            let result = ResultBox<Value>()
            try await access.change(key.name, info: info) { read, keys in
                var old: Value?
                if let stored = try read() {
                    old = try key.value(of: try access.open(stored, name: key.name, info: info, keys: keys))
                } else if let problem {
                    throw problem
                }
                var value = try key.orDefault(old)
                try body(&value)
                result.put(value)
                return .put(try access.close(try key.serialized(value), name: key.name, info: info, keys: keys))
            }
            guard let value = result.value else {
                throw SettingsError(.system, message: "The change was not carried out.", key: info.publicName)
            }
            return value
        }
    }

    private nonisolated func write<Result: Sendable>(
        _ info: KeyInfo, _ body: @escaping @Sendable (SettingsBatch) throws -> Result
    ) async throws -> Result {
        if info.security != .none { try await access.ring.load() }
        return try await access.write(isDurable: info.domain.isDurable, body)
    }

    // MARK: Transactions

    /// Reads and writes several settings of the database in one transaction. If it sets or removes a key of full
    /// durability, the transaction is durable when the call returns.
    ///
    /// - Parameter body: reads and writes settings and rows and nothing else, because it may run twice.
    /// - Throws: ``SettingsError/Code/notTransactional`` for keys of other domains. The errors of ``get(_:)`` and
    ///   ``set(_:for:)``. The errors of the body. Nothing is changed when the body throws.
    public nonisolated func write<Result: Sendable>(
        _ body: @escaping @Sendable (SettingsBatch) throws -> Result
    ) async throws -> Result {
        try await SettingsError.catching(nil) { try await access.write(body) }
    }

    /// Returns the value, or the key's default, within a transaction or a read of the app.
    ///
    /// - Throws: the errors of ``get(_:)``. ``SettingsError/Code/notTransactional``.
    public nonisolated func get<Value>(_ key: StorageKey<Value>, in db: Database) throws -> Value {
        try key.orDefault(try getIfPresent(key, in: db))
    }

    /// Returns the same as ``get(_:in:)``, or nil if no value is stored.
    ///
    /// - Throws: the errors of ``getIfPresent(_:)``. ``SettingsError/Code/notTransactional``.
    public nonisolated func getIfPresent<Value>(_ key: StorageKey<Value>, in db: Database) throws -> Value? {
        try SettingsBatch(database: db, access: access).getIfPresent(key)
    }

    /// Stores a value within a transaction of the app, so it commits or rolls back with the app's rows.
    ///
    /// - Throws: the errors of ``set(_:for:)``. ``SettingsError/Code/notTransactional``.
    public nonisolated func set<Value>(_ value: Value, for key: StorageKey<Value>, in db: Database) throws {
        try SettingsBatch(database: db, access: access).set(value, for: key)
    }

    /// Removes the value within a transaction of the app.
    ///
    /// - Throws: the errors of ``remove(_:)``. ``SettingsError/Code/notTransactional``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>, in db: Database) throws {
        try SettingsBatch(database: db, access: access).remove(key)
    }
}
