/// The name of a setting, with its type and what is done with its values.
///
/// ```swift
/// extension StorageKey<Bool> {
///     static var backupRequiresWiFi: Self { .init("backup.requiresWiFi", default: true) }
/// }
/// ```
///
/// It is a value: two keys that are made alike are the same key. A ``StorageCatalog`` registers it.
public struct StorageKey<Value: Sendable>: Sendable {
    /// Letters, digits, points and dashes, at most 100 bytes.
    public let name: String
    /// What stands for a value while none is stored; nil for a key that has none.
    public let defaultValue: Value?
    /// Where its values are kept.
    public let domain: StorageDomain
    /// How they are kept from others.
    public let security: StorageSecurity
    /// How they become bytes.
    public let serializer: SettingSerializer<Value>
    /// Whether they go to other devices.
    public let sync: SettingSync
    /// On which platforms it is there.
    public let availability: SettingAvailability
    /// What happens to bytes that are no value.
    public let onUndecodable: UndecodablePolicy
    /// Where values of earlier versions of the app are.
    public let migrations: [KeyMigration<Value>]
    /// The family that it is of.
    let family: String?

    /// A key with a serializer of its own.
    ///
    /// - Parameters:
    ///   - name: letters, digits, points and dashes, at most 100 bytes; other names are refused when a router opens.
    ///   - defaultValue: what stands for a value while none is stored.
    ///   - domain: where its values are kept.
    ///   - security: how they are kept from others; not every domain takes every one.
    ///   - serializer: how they become bytes.
    ///   - sync: whether they go to other devices.
    ///   - availability: the platforms that it is for.
    ///   - onUndecodable: what happens to bytes that are no value.
    ///   - migrations: where values of earlier versions of the app are; the first that has one counts.
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
        (self.name, self.defaultValue, self.domain, self.security) = (name, defaultValue, domain, security)
        (self.serializer, self.sync, self.availability) = (serializer, sync, availability)
        (self.onUndecodable, self.migrations, self.family) = (onUndecodable, migrations, family)
    }

    /// What errors and logs call it: the id of a family's member may be a person's.
    var publicName: String { family ?? name }
}

extension StorageKey where Value: Codable {
    /// A key whose values are stored as JSON, or in `UserDefaults` as property lists.
    ///
    /// Its parameters are those of the other initializer.
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
    /// Its name; of a member of a family the family's.
    public var description: String { publicName }
}

/// What happens to stored bytes that are no value of the key's type.
public enum UndecodablePolicy: Hashable, Sendable {
    /// Reading is an error.
    case fail
    /// Reading gives the default, or nothing; the bytes stay, and the audit shows them. For keys without a secret.
    case useDefault
}
