import LFSSystem

/// What a key is, without the type of its values. One object a key, for lists of them are sorted and
/// filtered often.
final class KeyInfo: Sendable {
    let name: String
    /// What errors and logs call it.
    let publicName: String
    /// Whether it stands for all members of a family.
    let isFamily: Bool
    let type: String
    let typeID: ObjectIdentifier
    let domain: StorageDomain
    let security: StorageSecurity
    let serializer: String
    let version: Int
    let sync: SettingSync
    let availability: SettingAvailability
    let onUndecodable: UndecodablePolicy
    /// Throws when the bytes are no value of the key.
    let check: @Sendable (SerializedValue) throws -> Void
    /// Looks for the value of an earlier version of the app; nil without migrations.
    let migrate: (@Sendable (MigrationSources) async throws -> MigratedValue?)?
    /// The keys that it may read for that.
    let migrationKeys: @Sendable () -> [KeyInfo]

    /// - Parameter isFamily: whether it is the pattern of a family.
    init<Value>(_ key: StorageKey<Value>, isFamily: Bool) {
        let (serializer, migrations) = (key.serializer, key.migrations)
        (name, publicName, self.isFamily) = (key.name, key.publicName, isFamily)
        (type, typeID) = (String(describing: Value.self), ObjectIdentifier(Value.self))
        (domain, security, sync, availability) = (key.domain, key.security, key.sync, key.availability)
        (self.serializer, version, onUndecodable) = (serializer.id, serializer.version, key.onUndecodable)
        check = { content in _ = try serializer.value(of: content) }
        migrate = key.migrate
        migrationKeys = { migrations.flatMap { $0.keys } }
    }

    /// What a note calls it as a source: its name and place.
    var sourceName: String { "\(domain.word)/\(name)" }

    /// Whether nothing of its values may be in an error.
    var isSecret: Bool { security != .none || domain.isSecret }
}

extension StorageKey {
    /// - Parameter isFamily: whether it is the pattern of a family.
    func info(isFamily: Bool = false) -> KeyInfo { KeyInfo(self, isFamily: isFamily) }

    fileprivate var migrate: (@Sendable (MigrationSources) async throws -> MigratedValue?)? {
        guard !migrations.isEmpty else { return nil }
        let (serializer, steps) = (serializer, migrations)
        return { sources in
            guard let found = try await KeyMigration.first(of: steps, sources) else { return nil }
            return MigratedValue(content: try serializer.serialize(found.value), sources: found.sources)
        }
    }
}
