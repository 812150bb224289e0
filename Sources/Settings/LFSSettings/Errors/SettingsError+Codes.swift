extension SettingsError.Code {
    // MARK: Keys and catalogs

    /// No catalog has the key, or a catalog has a different key of this name.
    public static let unregistered = Self(rawValue: "unregistered")
    /// The key is not available on this platform.
    public static let unavailable = Self(rawValue: "unavailable")
    /// Two keys have the same name.
    public static let duplicate = Self(rawValue: "duplicate")
    /// The name has characters that are not allowed, or is too long.
    public static let invalidName = Self(rawValue: "invalidName")
    /// The key combines two options that cannot be combined.
    public static let illegalPair = Self(rawValue: "illegalPair")
    /// A catalog has two steps from the same version, or a step that would never run.
    public static let invalidStep = Self(rawValue: "invalidStep")
    /// A key needs a store or a root key that the options do not provide.
    public static let notConfigured = Self(rawValue: "notConfigured")

    // MARK: Values

    /// No value is stored, and the key has no default.
    public static let noValue = Self(rawValue: "noValue")
    /// The value has more bytes than its domain allows.
    public static let tooLarge = Self(rawValue: "tooLarge")
    /// The stored bytes are not a value of the key's type. They are kept.
    public static let undecodable = Self(rawValue: "undecodable")
    /// The value could not be encoded.
    public static let unencodable = Self(rawValue: "unencodable")
    /// The stored value was written by a different serializer.
    public static let otherSerializer = Self(rawValue: "otherSerializer")
    /// The stored value was written by a newer version of the app.
    public static let newerValue = Self(rawValue: "newerValue")
    /// The stored value is damaged. It is kept.
    public static let corrupted = Self(rawValue: "corrupted")
    /// The domain does not support transactions.
    public static let notTransactional = Self(rawValue: "notTransactional")
    /// A snapshot contains no secrets.
    public static let notInSnapshot = Self(rawValue: "notInSnapshot")
    /// The domain is read-only on this platform, or the connection to the database is.
    public static let readOnly = Self(rawValue: "readOnly")

    // MARK: Secrets

    /// The root key or a data key is missing. Nothing was changed and no new key was made.
    public static let keyMissing = Self(rawValue: "keyMissing")
    /// The key that was found is not the one that encrypted the values.
    public static let keyMismatch = Self(rawValue: "keyMismatch")
    /// The store of the secrets is locked. Try again once it is unlocked.
    public static let locked = Self(rawValue: "locked")
    /// The user dismissed the password prompt of the key chain, or it could not be shown.
    public static let promptDismissed = Self(rawValue: "promptDismissed")
    /// The service that stores the secrets is not running, or ended during the call. No other store replaces it.
    public static let keychainUnavailable = Self(rawValue: "keychainUnavailable")
    /// The store of the secrets was emptied, or is not the one that was used before.
    public static let keychainReplaced = Self(rawValue: "keychainReplaced")
    /// A retired key is still needed.
    public static let keyInUse = Self(rawValue: "keyInUse")

    /// The app lacks an entitlement (Apple platforms).
    public static let missingEntitlement = Self(rawValue: "missingEntitlement")

    // MARK: Other devices

    /// A request to a transport failed.
    public static let transportFailed = Self(rawValue: "transportFailed")
    /// A transport did not answer in time.
    public static let timedOut = Self(rawValue: "timedOut")
    /// A key with a secret is to be synced by a transport that others can read.
    public static let notConfidential = Self(rawValue: "notConfidential")
    /// The clock of another device is more than a day ahead, or this device's clock is behind.
    public static let clockAhead = Self(rawValue: "clockAhead")
    /// More devices have published their settings than this device reads.
    public static let tooManyDevices = Self(rawValue: "tooManyDevices")

    // MARK: Migrations

    /// A value of an earlier version could not be migrated yet.
    public static let migrationPending = Self(rawValue: "migrationPending")
    /// A step of a catalog failed, or left values that cannot be read. The catalog's keys are unusable until a later
    /// open succeeds.
    public static let migrationFailed = Self(rawValue: "migrationFailed")
    /// A newer version of the app has written the data. Nothing was changed.
    public static let newerData = Self(rawValue: "newerData")
    /// The database does not have the tables of LFSSettings yet.
    public static let notMigrated = Self(rawValue: "notMigrated")
    /// A newer version of LFSSettings has written the database.
    public static let newerSchema = Self(rawValue: "newerSchema")

    // MARK: The system

    /// The disk or the quota is full.
    public static let noSpace = Self(rawValue: "noSpace")
    /// A file or a folder is not accessible, or others could change it.
    public static let permissionDenied = Self(rawValue: "permissionDenied")
    /// A folder that contains values is missing, for example because its disk is not mounted.
    public static let folderAbsent = Self(rawValue: "folderAbsent")
    /// The database reported another error.
    public static let database = Self(rawValue: "database")
    /// The system reported another error.
    public static let system = Self(rawValue: "system")
    /// The task was cancelled.
    public static let cancelled = Self(rawValue: "cancelled")
    /// The router was stopped, or ran before.
    public static let notRunning = Self(rawValue: "notRunning")
}
