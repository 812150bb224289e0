public import GRDB
import LFSDatabase
import Logging

extension StorageRouter {
    /// The value, or the key's default.
    ///
    /// - Throws: ``SettingsError/Code/noValue`` when nothing is stored and there is no default;
    ///   ``SettingsError/Code/unregistered``, ``SettingsError/Code/unavailable``;
    ///   ``SettingsError/Code/undecodable``, ``SettingsError/Code/otherSerializer``,
    ///   ``SettingsError/Code/newerValue``, ``SettingsError/Code/corrupted`` for what is stored, which stays;
    ///   ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``,
    ///   ``SettingsError/Code/keychainReplaced`` for secrets; ``SettingsError/Code/migrationPending``;
    ///   ``SettingsError/Code/folderAbsent`` and errors of the system and the database.
    public nonisolated func get<Value>(_ key: StorageKey<Value>) async throws -> Value {
        try key.orDefault(try await getIfPresent(key))
    }

    /// The value, or another one than the key's default.
    ///
    /// - Throws: as ``get(_:)``, but for `noValue`.
    public nonisolated func get<Value>(_ key: StorageKey<Value>, default value: Value) async throws -> Value {
        try await getIfPresent(key) ?? value
    }

    /// The value; nil when none is stored, also for a key with a default.
    ///
    /// - Throws: as ``get(_:)``, but for `noValue`.
    public nonisolated func getIfPresent<Value>(_ key: StorageKey<Value>) async throws -> Value? {
        try await access.getIfPresent(key)
    }

    /// Whether a value is stored, also one that cannot be read.
    ///
    /// - Throws: as ``get(_:)``, but for what is about the value itself.
    public nonisolated func exists<Value>(_ key: StorageKey<Value>) async throws -> Bool {
        try await access.exists(key)
    }

    /// Stores a value, in place of the one that is there, readable or not.
    ///
    /// - Throws: ``SettingsError/Code/tooLarge`` and ``SettingsError/Code/unencodable``, before anything is written;
    ///   ``SettingsError/Code/noSpace``; else as ``get(_:)``. With an error the former value is there still, but for
    ///   ``SettingsError/Code/system`` of a file whose folder could not be synced: the new one is there then, and may
    ///   be gone after a power cut.
    public nonisolated func set<Value>(_ value: Value, for key: StorageKey<Value>) async throws {
        try await access.set(value, for: key)
    }

    /// Removes the value, readable or not, and with it what a migration that waits would bring. Of a key that goes to
    /// other devices it counts there too, for all that was set before, also when nothing is stored here.
    ///
    /// - Throws: as ``set(_:for:)``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>) async throws {
        try await access.remove(key)
    }

    /// Changes the value, or the key's default, while nobody else changes it, in no process.
    ///
    /// - Parameters:
    ///   - key: of the value.
    ///   - body: may run twice, so it changes the value and nothing else.
    /// - Returns: the new value.
    /// - Throws: as ``get(_:)`` and ``set(_:for:)``; what the body throws, and then nothing is changed.
    @discardableResult
    public nonisolated func update<Value>(
        _ key: StorageKey<Value>, _ body: @escaping @Sendable (inout Value) throws -> Void
    ) async throws -> Value {
        try await access.update(key, body)
    }

    // MARK: Transactions

    /// Reads and writes several settings of the database in one transaction. With a key of full durability among those
    /// that are set or removed, it is on the device when the call returns.
    ///
    /// - Parameter body: may run twice, so it does nothing but read and write settings and rows.
    /// - Throws: ``SettingsError/Code/notTransactional`` for keys of other domains; as ``get(_:)`` and
    ///   ``set(_:for:)``; what the body throws, and then nothing is changed.
    public nonisolated func write<Result: Sendable>(
        _ body: @escaping @Sendable (SettingsBatch) throws -> Result
    ) async throws -> Result {
        try await SettingsError.catching(nil) {
            let needs = BatchNeeds()
            var transaction = access.transaction
            transaction.needs = needs
            let result: Result
            do {
                result = try await run(body, transaction, needs)
            } catch let error where needs.lacksKeys {
                options.logger?.debug("A batch needs a data key, and is run again: \(type(of: error))")
                await loadKeys()
                needs.beginLastRun()
                result = try await run(body, transaction, needs)
            }
            // A commit that is on the device has those before it with it.
            if needs.isDurable { try await access.runner.writeDurably { _ in } }
            return result
        }
    }

    private nonisolated func run<Result: Sendable>(
        _ body: @escaping @Sendable (SettingsBatch) throws -> Result, _ access: TransactionAccess, _ needs: BatchNeeds
    ) async throws -> Result {
        try await self.access.runner.write { db in
            let result = try body(SettingsBatch(database: db, access: access))
            // Also where the body goes on without a value that it could not read.
            try needs.requireKeys()
            return result
        }
    }

    /// A key that is not there is told by who asks for its value.
    private nonisolated func loadKeys() async {
        do { _ = try await access.sealing.ring.keys() } catch {
            options.logger?.debug("The root key is not there yet.")
        }
    }

    /// The value within a transaction, or a read, of the host's own; the key's default when none is stored.
    ///
    /// - Throws: as ``get(_:)``; ``SettingsError/Code/notTransactional``.
    public nonisolated func get<Value>(_ key: StorageKey<Value>, in db: Database) throws -> Value {
        try key.orDefault(try getIfPresent(key, in: db))
    }

    /// As ``get(_:in:)``, nil when none is stored.
    ///
    /// - Throws: as ``getIfPresent(_:)``; ``SettingsError/Code/notTransactional``.
    public nonisolated func getIfPresent<Value>(_ key: StorageKey<Value>, in db: Database) throws -> Value? {
        try access.transaction.getIfPresent(key, db)
    }

    /// Stores a value within a transaction of the host's own: it commits or rolls back with the host's rows.
    ///
    /// - Throws: as ``set(_:for:)``; ``SettingsError/Code/notTransactional``.
    public nonisolated func set<Value>(_ value: Value, for key: StorageKey<Value>, in db: Database) throws {
        try access.transaction.set(value, for: key, db)
    }

    /// Removes the value within a transaction of the host's own.
    ///
    /// - Throws: as ``remove(_:)``; ``SettingsError/Code/notTransactional``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>, in db: Database) throws {
        try access.transaction.remove(key, db)
    }
}
