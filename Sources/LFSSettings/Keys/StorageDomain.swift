/// Where the values of a key are kept.
public struct StorageDomain: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case database(isDurable: Bool)
        case file(FileLocation)
        case keychain(group: String?)
        case userDefaults(suite: String?)
        case foreign(ForeignSecret)
        case memory
    }

    /// When a value in the database is on the device.
    public enum Durability: Hashable, Sendable {
        /// As any commit of the host: with its `synchronous`.
        case asDatabase
        /// When the call returns, whatever the host's `synchronous`. A set within the host's own transaction commits as
        /// the host's.
        case full
    }

    /// A folder for values in files.
    public enum FileLocation: Hashable, Sendable {
        /// `<database file>.settings`.
        case besideDatabase
        /// A folder, which is made if it is missing; its parent has to exist.
        case folder(String)
        /// The container of an app group, on Apple platforms.
        case appGroup(String)
    }

    let kind: Kind

    /// The host's own database, in the table `lfs_setting`.
    public static let database = StorageDomain(kind: .database(isDurable: false))

    /// As ``database``, with a durability of its own.
    public static func database(durability: Durability) -> StorageDomain {
        StorageDomain(kind: .database(isDurable: durability == .full))
    }

    /// A file for each value.
    public static func file(in location: FileLocation = .besideDatabase) -> StorageDomain {
        StorageDomain(kind: .file(location))
    }

    /// The key chain of the options.
    ///
    /// - Parameter group: the access group on Apple platforms; elsewhere it is not used.
    public static func keychain(group: String? = nil) -> StorageDomain { StorageDomain(kind: .keychain(group: group)) }

    /// `UserDefaults`; on Linux it can only be read.
    ///
    /// - Parameter suite: nil for the app's own.
    public static func userDefaults(suite: String? = nil) -> StorageDomain {
        StorageDomain(kind: .userDefaults(suite: suite))
    }

    /// An item that another program has written: a source of migrations, which may remove it.
    package static func foreign(_ item: ForeignSecret) -> StorageDomain { StorageDomain(kind: .foreign(item)) }

    /// The memory of the router, for tests and previews.
    public static let memory = StorageDomain(kind: .memory)
}

extension StorageDomain: CustomStringConvertible {
    /// Its name, as the audit shows it.
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

    /// The word for it in envelopes.
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

    /// Whether nothing of its values may be in an error.
    var isSecret: Bool { word == "keychain" || word == "foreign" }

    var isDatabase: Bool { word == "database" }

    /// Which securities go with it: "encrypted" is one of the database and of files.
    func allows(_ security: StorageSecurity) -> Bool {
        switch kind {
        case .database, .file: true
        case .keychain, .userDefaults, .foreign, .memory: security == .none
        }
    }

    /// Bytes of a value at most.
    var limit: Int {
        switch kind {
        case .database, .userDefaults, .foreign, .memory: StorageLimits.database
        case .file: StorageLimits.file
        case .keychain: StorageLimits.keychain
        }
    }
}
