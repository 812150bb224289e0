/// The place of a key's value in an earlier version of the app, and its conversion to the current form.
///
/// Migrations run when a router opens. The value is read, written to its new place, read back, compared and recorded.
/// Then the source is removed. If the process is killed at any point, exactly one value remains in effect. A value that
/// is already at the new place is not overwritten. If a source is locked or a closure throws, the source is kept.
/// Reading the key then throws ``SettingsError/Code/migrationPending`` until a later open or until the key is set.
public struct KeyMigration<Value: Sendable>: Sendable {
    /// The keys that it may read.
    let keys: [KeyInfo]
    let find: @Sendable (MigrationSources) async throws -> FoundValue<Value>?

    /// Takes the value of an earlier key, which does not have to be in a catalog.
    public static func legacy(from key: StorageKey<Value>) -> Self {
        KeyMigration(keys: [key.info()]) { sources in
            guard let value = try await sources.value(of: key) else { return nil }
            return FoundValue(value: value, sources: [key.info()])
        }
    }

    /// Converts a value of another type.
    ///
    /// - Parameters:
    ///   - key: the earlier key, which does not have to be in a catalog.
    ///   - transform: converts the value. Nil means that the old value has no equivalent, and its source is kept.
    public static func transform<Old>(
        from key: StorageKey<Old>, _ transform: @escaping @Sendable (Old) throws -> Value?
    ) -> Self {
        KeyMigration(keys: [key.info()]) { sources in
            guard let old = try await sources.value(of: key) else { return nil }
            return try transform(old).map { FoundValue(value: $0, sources: [key.info()]) }
        }
    }

    /// Limits a migration to data of some versions of the app.
    ///
    /// - Parameters:
    ///   - condition: refers to the version that has written the data, not to the running one.
    ///   - migration: the migration to run.
    public static func ifPreviousApp(_ condition: AppVersionCondition, migration: Self) -> Self {
        KeyMigration(keys: migration.keys) { sources in
            condition.isMet(sources.previousAppVersion) ? try await migration.find(sources) : nil
        }
    }

    /// Takes the first value that one of the migrations finds.
    public static func firstOf(_ migrations: [Self]) -> Self {
        KeyMigration(keys: migrations.flatMap(\.keys)) { sources in try await first(of: migrations, sources) }
    }

    /// Combines two earlier values into one.
    ///
    /// - Parameters:
    ///   - first: an earlier key.
    ///   - second: another earlier key.
    ///   - combine: makes the value from those that are stored. It is not called when neither is. Nil keeps the
    ///     sources.
    public static func aggregate<First, Second>(
        _ first: StorageKey<First>, second: StorageKey<Second>,
        _ combine: @escaping @Sendable (First?, Second?) throws -> Value?
    ) -> Self {
        KeyMigration(keys: [first.info(), second.info()]) { sources in
            let (one, two) = (try await sources.value(of: first), try await sources.value(of: second))
            guard one != nil || two != nil else { return nil }
            let used = [one.map { _ in first.info() }, two.map { _ in second.info() }].compactMap { $0 }
            return try combine(one, two).map { FoundValue(value: $0, sources: used) }
        }
    }

    static func first(of migrations: [Self], _ sources: MigrationSources) async throws -> FoundValue<Value>? {
        for migration in migrations {
            if let found = try await migration.find(sources) { return found }
        }
        return nil
    }
}

/// A value of an earlier version, and the keys from which it was made.
struct FoundValue<Value: Sendable>: Sendable {
    let value: Value
    let sources: [KeyInfo]
}

struct MigratedValue: Sendable {
    let content: SerializedValue
    let sources: [KeyInfo]
}

struct MigrationSources: Sendable {
    /// The version of the app that has written the data, or nil if it was not recorded.
    let previousAppVersion: String?
    /// Reads the decrypted value of a key, or nil if none is stored.
    let read: @Sendable (KeyInfo) async throws -> SerializedValue?

    func value<Value>(of key: StorageKey<Value>) async throws -> Value? {
        try await read(key.info()).map { try key.serializer.value(of: $0) }
    }
}
