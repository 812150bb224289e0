/// The name of a setting, with the type of its values and the options for storing them.
///
/// ```swift
/// extension StorageKey<Bool> {
///     static var backupRequiresWiFi: Self { .init("backup.requiresWiFi", default: true) }
/// }
/// ```
///
/// A key is a value: two keys with equal options are the same key. A ``StorageCatalog`` registers it.
public struct StorageKey<Value: Sendable>: Sendable {
    /// The name: letters, digits, periods and dashes, at most 100 bytes. A router refuses to open with other names.
    public let name: String
    /// The value to return while none is stored, or nil for a key without a default.
    public let defaultValue: Value?
    /// The place where its values are stored.
    public let domain: StorageDomain
    /// The encryption of its values. Not every domain supports every security.
    public let security: StorageSecurity
    /// The conversion of its values to bytes.
    public let serializer: SettingSerializer<Value>
    /// The sync of its values with other devices.
    public let sync: SettingSync
    /// The platforms on which it is available.
    public let availability: SettingAvailability
    /// The treatment of bytes that are not a value of its type.
    public let onUndecodable: UndecodablePolicy
    /// The migrations of values of earlier versions of the app. The first one that finds a value is used.
    public let migrations: [KeyMigration<Value>]
    private(set) var family: String?

    /// Creates a key with an explicit serializer. Each parameter sets the property with its name.
    public init(
        _ name: String, default defaultValue: Value? = nil, domain: StorageDomain = .database,
        security: StorageSecurity = .none, serializer: SettingSerializer<Value>, sync: SettingSync = .never,
        availability: SettingAvailability = .everywhere, onUndecodable: UndecodablePolicy = .fail,
        migrations: [KeyMigration<Value>] = []
    ) {
        self.name = name
        self.defaultValue = defaultValue
        self.domain = domain
        self.security = security
        self.serializer = serializer
        self.sync = sync
        self.availability = availability
        self.onUndecodable = onUndecodable
        self.migrations = migrations
    }

    /// Returns the member of a family with the options of this key, without its migrations.
    func member(_ name: String) -> Self {
        var key = Self(
            name, default: defaultValue, domain: domain, security: security, serializer: serializer, sync: sync,
            availability: availability, onUndecodable: onUndecodable)
        key.family = self.name
        return key
    }

    /// The name for errors and logs. It leaves out the id of a family's member, which may be personal.
    var publicName: String { family ?? name }
}

extension StorageKey where Value: Codable {
    /// Creates a key whose values are stored as JSON, or as property lists in `UserDefaults`.
    public init(
        _ name: String, default defaultValue: Value? = nil, domain: StorageDomain = .database,
        security: StorageSecurity = .none, sync: SettingSync = .never,
        availability: SettingAvailability = .everywhere, onUndecodable: UndecodablePolicy = .fail,
        migrations: [KeyMigration<Value>] = []
    ) {
        self.init(
            name, default: defaultValue, domain: domain, security: security,
            serializer: domain.word == "userDefaults" ? .propertyList : .json, sync: sync, availability: availability,
            onUndecodable: onUndecodable, migrations: migrations)
    }
}

extension StorageKey: CustomStringConvertible {
    /// The name of the key. For a member of a family, the name of the family.
    public var description: String { publicName }
}

/// The treatment of stored bytes that are not a value of the key's type.
public enum UndecodablePolicy: Hashable, Sendable {
    /// Reading throws an error.
    case fail
    /// Reading returns the default, or nil. The bytes are kept, and the audit reports them. Only for keys without a
    /// secret.
    case useDefault
}
