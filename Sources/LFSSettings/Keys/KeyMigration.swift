/// Where the value of a key was in an earlier version of the app, and how it becomes one of the present.
///
/// Migrations run when a router opens: the value is read, written to its new place, read back and compared, noted, and
/// then the source is removed. A kill anywhere leaves the value, once. What stands at the new place already is not
/// overwritten. A source that is locked, or a closure that throws, keeps the source, and reading the key is
/// ``SettingsError/Code/migrationPending`` until a later open, or a set.
public struct KeyMigration<Value: Sendable>: Sendable {
    /// All keys that it may read.
    let keys: [KeyInfo]
    let find: @Sendable (MigrationSources) async throws -> FoundValue<Value>?

    /// The value of an earlier key, which need not be in any catalog.
    public static func legacy(from key: StorageKey<Value>) -> Self {
        KeyMigration(keys: [key.info()]) { sources in
            guard let value = try await sources.value(of: key) else { return nil }
            return FoundValue(value: value, sources: [key.info()])
        }
    }

    /// A value of another type.
    ///
    /// - Parameters:
    ///   - key: the earlier key, which need not be in any catalog.
    ///   - transform: makes the value; nil for an old one that stands for none, whose source is kept.
    public static func transform<Old>(
        from key: StorageKey<Old>, _ transform: @escaping @Sendable (Old) throws -> Value?
    ) -> Self {
        KeyMigration(keys: [key.info()]) { sources in
            guard let old = try await sources.value(of: key) else { return nil }
            return try transform(old).map { FoundValue(value: $0, sources: [key.info()]) }
        }
    }

    /// A migration for data of some versions of the app only.
    ///
    /// - Parameters:
    ///   - condition: about the version that has written the data, not the one that runs.
    ///   - migration: what is done then.
    public static func ifPreviousApp(_ condition: AppVersionCondition, _ migration: Self) -> Self {
        KeyMigration(keys: migration.keys) { sources in
            condition.isMet(sources.previousAppVersion) ? try await migration.find(sources) : nil
        }
    }

    /// The first one that finds a value.
    public static func firstOf(_ migrations: [Self]) -> Self {
        KeyMigration(keys: migrations.flatMap(\.keys)) { sources in try await first(of: migrations, sources) }
    }

    /// A value out of two earlier ones.
    ///
    /// - Parameters:
    ///   - first: an earlier key.
    ///   - second: another one.
    ///   - combine: makes the value of those that are there; it is not called when neither is. Nil keeps the sources.
    public static func aggregate<First, Second>(
        _ first: StorageKey<First>, _ second: StorageKey<Second>,
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

/// A value of an earlier version, and the keys that it was made of.
struct FoundValue<Value: Sendable>: Sendable {
    let value: Value
    let sources: [KeyInfo]
}

/// As ``FoundValue``, in the bytes of its key.
struct MigratedValue: Sendable {
    let content: SerializedValue
    let sources: [KeyInfo]
}

/// Reads earlier values for a migration.
struct MigrationSources: Sendable {
    /// The version of the app that has written the data; nil when none has said it.
    let previousAppVersion: String?
    /// What is stored under a key, opened; nil when nothing is.
    let read: @Sendable (KeyInfo) async throws -> SerializedValue?

    func value<Value>(of key: StorageKey<Value>) async throws -> Value? {
        try await read(key.info()).map { try key.serializer.value(of: $0) }
    }
}
