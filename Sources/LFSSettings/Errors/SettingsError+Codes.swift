extension SettingsError.Code {
    // MARK: Keys and catalogs

    /// No catalog has the key, or has another key of its name.
    public static let unregistered = Self(rawValue: "unregistered")
    /// The key is not for this platform.
    public static let unavailable = Self(rawValue: "unavailable")
    /// Two keys have one name.
    public static let duplicate = Self(rawValue: "duplicate")
    /// The name has characters that names must not have, or is too long.
    public static let invalidName = Self(rawValue: "invalidName")
    /// The key asks for two things that do not go together.
    public static let illegalPair = Self(rawValue: "illegalPair")
    /// A catalog has two steps from one version, or one that would never run.
    public static let invalidStep = Self(rawValue: "invalidStep")
    /// A key asks for a store or a root key that the options do not name.
    public static let notConfigured = Self(rawValue: "notConfigured")

    // MARK: Values

    /// Nothing is stored, and the key has no default.
    public static let noValue = Self(rawValue: "noValue")
    /// The value has more bytes than its domain takes.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// What is stored is no value of the key's type. It stays as it is.
    public static let undecodable = Self(rawValue: "undecodable")
    /// The value could not be encoded.
    public static let unencodable = Self(rawValue: "unencodable")
    /// Another serializer has written what is stored.
    public static let otherSerializer = Self(rawValue: "otherSerializer")
    /// A newer version of the app has written what is stored.
    public static let newerValue = Self(rawValue: "newerValue")
    /// What is stored is damaged. It stays as it is.
    public static let corrupted = Self(rawValue: "corrupted")
    /// The domain takes no part in a transaction.
    public static let notTransactional = Self(rawValue: "notTransactional")
    /// A snapshot holds no secrets.
    public static let notInSnapshot = Self(rawValue: "notInSnapshot")
    /// The domain can only be read on this platform, or the connection to the database cannot write.
    public static let readOnly = Self(rawValue: "readOnly")

    // MARK: Secrets

    /// The root key, or a data key, is not there. Nothing was changed and no other key was made.
    public static let keyMissing = Self(rawValue: "keyMissing")
    /// The key that was found is another one than the values were written with.
    public static let keyMismatch = Self(rawValue: "keyMismatch")
    /// The place of the secrets is locked; try again once it is open.
    public static let locked = Self(rawValue: "locked")
    /// The user has closed the question for the password of the key chain, or it could not be shown.
    public static let promptDismissed = Self(rawValue: "promptDismissed")
    /// The service that keeps the secrets is not there, or has ended meanwhile. No other one takes its place.
    public static let keychainUnavailable = Self(rawValue: "keychainUnavailable")
    /// The place of the secrets was emptied or is another one than before.
    public static let keychainReplaced = Self(rawValue: "keychainReplaced")
    /// A retired key is still needed.
    public static let keyInUse = Self(rawValue: "keyInUse")

    /// The app lacks an entitlement, on Apple platforms.
    public static let missingEntitlement = Self(rawValue: "missingEntitlement")

    // MARK: Other devices

    /// A transport could not be asked, or told.
    public static let transportFailed = Self(rawValue: "transportFailed")
    /// A transport has not answered in time.
    public static let timedOut = Self(rawValue: "timedOut")
    /// A key with a secret is to go to other devices by a transport that others can read.
    public static let notConfidential = Self(rawValue: "notConfidential")
    /// The clock of another device is more than a day ahead, or this one's is behind.
    public static let clockAhead = Self(rawValue: "clockAhead")
    /// More devices have published their settings than are read.
    public static let tooManyDevices = Self(rawValue: "tooManyDevices")

    // MARK: Migrations

    /// A value of an earlier place could not be taken over yet.
    public static let migrationPending = Self(rawValue: "migrationPending")
    /// A step of a catalog failed, or left values that cannot be read: the catalog's keys wait for a later open.
    public static let migrationFailed = Self(rawValue: "migrationFailed")
    /// A newer version of the app has written the data. Nothing was touched.
    public static let newerData = Self(rawValue: "newerData")
    /// The database has no tables of LFSSettings yet.
    public static let notMigrated = Self(rawValue: "notMigrated")
    /// The database was written by a newer version of LFSSettings.
    public static let newerSchema = Self(rawValue: "newerSchema")

    // MARK: The system

    /// The disk or the quota is full.
    public static let noSpace = Self(rawValue: "noSpace")
    /// A file or a folder may not be used, or others could change it.
    public static let permissionDenied = Self(rawValue: "permissionDenied")
    /// A folder that has values is not there: a disk that is not mounted.
    public static let folderAbsent = Self(rawValue: "folderAbsent")
    /// The database said something else.
    public static let database = Self(rawValue: "database")
    /// The system said something else.
    public static let system = Self(rawValue: "system")
    /// The task was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The router was stopped, or ran before.
    public static let notRunning = Self(rawValue: "notRunning")
}
