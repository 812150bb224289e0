import LFSSystem

/// A key without the type of its values. It is a class because lists of keys are sorted and filtered often.
public final class KeyInfo: Sendable {
    let name: String
    let publicName: String
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
    /// Throws when the bytes are not a value of the key.
    let check: @Sendable (SerializedValue) throws -> Void
    /// The keys of earlier versions of the app, from which its value may be migrated.
    let migrationSources: [KeyInfo]
    /// Returns the first value that a migration finds.
    let migrate: @Sendable (MigrationReader) async throws -> MigratedValue?

    /// - Parameter isFamily: true for the pattern of a family.
    init<Value>(_ key: StorageKey<Value>, isFamily: Bool) {
        let serializer = key.serializer
        // A family's migrations are not carried out. They would move a value to the family's own name, under which no
        // key finds it.
        let migrations = isFamily ? [] : key.migrations
        name = key.name
        publicName = key.publicName
        self.isFamily = isFamily
        type = String(describing: Value.self)
        typeID = ObjectIdentifier(Value.self)
        domain = key.domain
        security = key.security
        sync = key.sync
        availability = key.availability
        self.serializer = serializer.id
        version = serializer.version
        onUndecodable = key.onUndecodable
        check = { content in _ = try serializer.value(of: content) }
        migrationSources = migrations.map(\.source)
        migrate = { reader in
            for migration in migrations {
                guard let value = try await migration.find(reader) else { continue }
                return MigratedValue(content: try serializer.serialize(value), source: migration.source)
            }
            return nil
        }
    }

    /// The kind of the key's place, and its name.
    var sourceName: String { "\(domain.word)/\(name)" }

    /// The identity of the key as the source of a migration. It distinguishes places of the same kind, such as two
    /// folders.
    var sourceID: String { domain.place.map { "\(sourceName)/\(ContentHash.hex(ofText: $0))" } ?? sourceName }

    /// True if its values must not appear in errors.
    var isSecret: Bool { security != .none || domain.isSecret }
}

extension StorageKey {
    func info(isFamily: Bool = false) -> KeyInfo { KeyInfo(self, isFamily: isFamily) }
}
