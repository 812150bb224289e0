/// The place where the values of a key are stored.
public struct StorageDomain: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case database(isDurable: Bool)
        case file(FileLocation)
        case keychain(group: String?)
        case userDefaults(suite: String?)
        case foreign(ForeignSecret)
        case memory
    }

    /// The moment at which a value in the database is durable.
    public enum Durability: Hashable, Sendable {
        /// With the app's commits, depending on the database's `synchronous` setting.
        case asDatabase
        /// When the call returns, whatever the database's `synchronous` setting. A `set` within the app's own
        /// transaction commits like that transaction.
        case full
    }

    /// A folder for values in files.
    public enum FileLocation: Hashable, Sendable {
        /// `<database file>.settings`.
        case besideDatabase
        /// A folder, which is created if it is missing. Its parent has to exist.
        case folder(String)
        /// The container of an app group, on Apple platforms.
        case appGroup(String)
    }

    let kind: Kind

    /// The app's own database, in the table `lfs_setting`.
    public static let database = StorageDomain(kind: .database(isDurable: false))

    /// The same as ``database``, with an explicit durability.
    public static func database(durability: Durability) -> StorageDomain {
        StorageDomain(kind: .database(isDurable: durability == .full))
    }

    /// A separate file for each value.
    public static func file(in location: FileLocation = .besideDatabase) -> StorageDomain {
        StorageDomain(kind: .file(location))
    }

    /// The key chain of ``StorageOptions``.
    ///
    /// - Parameter group: reserved for the access group on Apple platforms. No key chain uses it yet.
    public static func keychain(group: String? = nil) -> StorageDomain { StorageDomain(kind: .keychain(group: group)) }

    /// `UserDefaults`, which is read-only on Linux.
    ///
    /// - Parameter suite: the name of a suite, or nil for the app's own defaults.
    public static func userDefaults(suite: String? = nil) -> StorageDomain {
        StorageDomain(kind: .userDefaults(suite: suite))
    }

    /// An item of another program. It is a source of migrations, which may remove it.
    package static func foreign(_ item: ForeignSecret) -> StorageDomain { StorageDomain(kind: .foreign(item)) }

    /// The router's memory, for tests and previews.
    public static let memory = StorageDomain(kind: .memory)
}

extension StorageDomain: CustomStringConvertible {
    /// The name that the audit shows.
    public var description: String {
        switch kind {
        case .database(isDurable: false): "database"
        case .database(isDurable: true): "database, durable"
        case .file(.besideDatabase): "file"
        case .file(.folder(let path)): "file in \(path)"
        case .file(.appGroup(let id)): "file of app group \(id)"
        case .keychain: "keychain"
        case .userDefaults(let suite): suite.map { "userDefaults \($0)" } ?? "userDefaults"
        case .foreign(let item): item.id
        case .memory: "memory"
        }
    }

    /// The identifier of the domain in envelopes.
    var word: String {
        switch kind {
        case .database: "database"
        case .file: "file"
        case .keychain: "keychain"
        case .userDefaults: "userDefaults"
        case .foreign: "foreign"
        case .memory: "memory"
        }
    }

    /// The text that distinguishes the place from others with the same identifier. Nil for the standard place.
    var place: String? {
        switch kind {
        case .file(.besideDatabase), .userDefaults(suite: nil), .database, .keychain, .memory: nil
        case .file, .userDefaults, .foreign: description
        }
    }

    var isSecret: Bool { word == "keychain" || word == "foreign" }

    var isDatabase: Bool { word == "database" }

    /// True if a change in the database is durable when its call returns.
    var isDurable: Bool { kind == .database(isDurable: true) }

    /// Returns true if the domain supports a security. Encryption is supported by the database and files only.
    func allows(_ security: StorageSecurity) -> Bool {
        switch kind {
        case .database, .file: true
        case .keychain, .userDefaults, .foreign, .memory: security == .none
        }
    }

    /// The limit of a value's size in bytes.
    var limit: Int {
        switch kind {
        case .database, .userDefaults, .foreign, .memory: StorageLimits.database
        case .file: StorageLimits.file
        case .keychain: StorageLimits.keychain
        }
    }
}
