/// The values of a moment, without secrets, to be read without waiting: for views.
///
/// Of the families, it has members in the database.
public struct SettingsSnapshot: Sendable {
    let registry: Registry
    let pending: PendingMigrations
    /// What to say of keys that have no value, and may have an earlier one.
    let problems: [String: SettingsError]
    let values: [String: Result<SerializedValue, SettingsError>]

    /// The value, or the key's default.
    ///
    /// - Throws: as ``StorageRouter/get(_:)``; ``SettingsError/Code/notInSnapshot`` for a secret.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value { try key.orDefault(try getIfPresent(key)) }

    /// The value; nil when none was stored.
    ///
    /// - Throws: as ``get(_:)``, but for `noValue`.
    public func getIfPresent<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let entry = try registry.entry(of: key)
        let info = entry.info
        try pending.checkCatalog(entry.catalog, info.publicName)
        guard !info.isSecret else {
            throw SettingsError(
                .notInSnapshot, "A snapshot holds no secret such as \(info.publicName). Ask the router for it.",
                key: info.publicName)
        }
        guard let content = values[key.name] else {
            if let problem = problems[key.name] { throw problem }
            return nil
        }
        do {
            return try key.value(of: try content.get())
        } catch let error as SettingsError {
            throw error.about(info.publicName)
        }
    }
}
