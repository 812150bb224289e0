/// The place of a key's value in an earlier version of the app, and its conversion to the current form.
///
/// Migrations run when a router opens. The value is read, written to its new place, read back, compared and recorded.
/// Then the source is removed. If the process is killed at any point, exactly one value remains in effect. A value that
/// is already at the new place is not overwritten. If the source is locked or a closure throws, the source is kept.
/// Reading the key then throws ``SettingsError/Code/migrationPending`` until a later open or until the key is set.
public struct KeyMigration<Value: Sendable>: Sendable {
    /// The earlier key.
    let source: KeyInfo
    let find: @Sendable (MigrationReader) async throws -> Value?

    /// Takes the value of an earlier key, which does not have to be in a catalog.
    public static func legacy(from key: StorageKey<Value>) -> Self { transform(from: key) { $0 } }

    /// Converts a value of another type.
    ///
    /// - Parameters:
    ///   - key: the earlier key, which does not have to be in a catalog.
    ///   - transform: converts the value. Nil means that the old value has no equivalent, and its source is kept.
    public static func transform<Old>(
        from key: StorageKey<Old>, _ transform: @escaping @Sendable (Old) throws -> Value?
    ) -> Self {
        KeyMigration(source: key.info()) { reader in try await reader.value(of: key).flatMap(transform) }
    }

    /// Limits a migration to data of some versions of the app.
    ///
    /// - Parameters:
    ///   - condition: refers to the version that has written the data, not to the running one.
    ///   - migration: the migration to run.
    public static func ifPreviousApp(_ condition: AppVersionCondition, migration: Self) -> Self {
        KeyMigration(source: migration.source) { reader in
            condition.isMet(reader.previousAppVersion) ? try await migration.find(reader) : nil
        }
    }
}

/// The serialized value of an earlier version, and the key that it was read from.
struct MigratedValue: Sendable {
    let content: SerializedValue
    let source: KeyInfo
}

struct MigrationReader: Sendable {
    /// The version of the app that has written the data, or nil if it was not recorded.
    let previousAppVersion: String?
    /// Reads the decrypted value of a key, or nil if none is stored.
    let read: @Sendable (KeyInfo) async throws -> SerializedValue?

    func value<Value>(of key: StorageKey<Value>) async throws -> Value? {
        try await read(key.info()).map { try key.serializer.value(of: $0) }
    }
}
