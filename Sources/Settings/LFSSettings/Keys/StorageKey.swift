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
    /// The name: letters, digits, periods and dashes, at most 100 bytes.
    public let name: String
    /// The value to return while none is stored, or nil for a key without a default.
    public let defaultValue: Value?
    /// The place where its values are stored.
    public let domain: StorageDomain
    /// The encryption of its values.
    public let security: StorageSecurity
    /// The conversion of its values to bytes.
    public let serializer: SettingSerializer<Value>
    /// The sync of its values with other devices.
    public let sync: SettingSync
    /// The platforms on which it is available.
    public let availability: SettingAvailability
    /// The treatment of bytes that are not a value of its type.
    public let onUndecodable: UndecodablePolicy
    /// The migrations of values of earlier versions of the app.
    public let migrations: [KeyMigration<Value>]
    /// The name of its family, if it is a member.
    let family: String?

    /// Creates a key with an explicit serializer.
    ///
    /// - Parameters:
    ///   - name: letters, digits, periods and dashes, at most 100 bytes. A router refuses to open with other names.
    ///   - defaultValue: the value to return while none is stored.
    ///   - domain: the place where its values are stored.
    ///   - security: the encryption of its values. Not every domain supports every security.
    ///   - serializer: the conversion of its values to bytes.
    ///   - sync: the sync of its values with other devices.
    ///   - availability: the platforms on which it is available.
    ///   - onUndecodable: the treatment of bytes that are not a value of its type.
    ///   - migrations: the migrations of values of earlier versions of the app. The first one that finds a value is
    ///     used.
    public init(
        _ name: String, default defaultValue: Value? = nil, domain: StorageDomain = .database,
        security: StorageSecurity = .none, serializer: SettingSerializer<Value>, sync: SettingSync = .never,
        availability: SettingAvailability = .everywhere, onUndecodable: UndecodablePolicy = .fail,
        migrations: [KeyMigration<Value>] = []
    ) {
        self.init(
            name: name, default: defaultValue, domain: domain, security: security, serializer: serializer, sync: sync,
            availability: availability, onUndecodable: onUndecodable, migrations: migrations, family: nil)
    }

    init(
        name: String, default defaultValue: Value?, domain: StorageDomain, security: StorageSecurity,
        serializer: SettingSerializer<Value>, sync: SettingSync, availability: SettingAvailability,
        onUndecodable: UndecodablePolicy, migrations: [KeyMigration<Value>], family: String?
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
        self.family = family
    }

    /// The name for errors and logs. It leaves out the id of a family's member, which may be personal.
    var publicName: String { family ?? name }
}

extension StorageKey where Value: Codable {
    /// Creates a key whose values are stored as JSON, or as property lists in `UserDefaults`.
    ///
    /// The parameters are those of the other initializer.
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
