/// The values at one moment, without secrets, which a view can read without waiting.
///
/// For families, it contains the members that are in the database.
public struct SettingsSnapshot: Sendable {
    let registry: Registry
    /// The errors of keys that have no value and whose earlier value was not migrated yet.
    let problems: [String: SettingsError]
    let values: [String: Result<SerializedValue, SettingsError>]

    /// Returns the value, or the key's default.
    ///
    /// - Throws: the errors of ``StorageRouter/get(_:)``, and ``SettingsError/Code/notInSnapshot`` for a secret.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value { try key.orDefault(try getIfPresent(key)) }

    /// Returns the value, or nil if none was stored.
    ///
    /// - Throws: the errors of ``get(_:)`` except `noValue`.
    public func getIfPresent<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let info = try registry.usable(key)
        guard !info.isSecret else {
            throw SettingsError(
                .notInSnapshot,
                message: "A snapshot contains no secret such as \(info.publicName). Read it from the router.",
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
