public import Foundation

/// Options of a sync server: closures of its host, and limits.
public struct SyncServiceOptions: Sendable {
    /// A closure that returns true if the storage has an object. It is called when a device reports an upload. If nil,
    /// devices are trusted.
    ///
    /// If the closure throws, the device is informed that the storage does not answer, and tries again.
    package var objectExists: (@Sendable (SyncFile) async throws -> Bool)?

    /// The time that an object stays in the storage after its file was deleted. A server then removes it with
    /// ``SyncService/removeObjects(_:)``. A day is sufficient for devices that are just reading the object, and for a
    /// backup that is restored. If nil, the server records no removals, and the devices that delete files remove the
    /// objects. The objects of a lost device then stay. The default is nil.
    public var removalDelay: Duration?

    /// The maximum number of sessions of an account without a limit of its own. The default is 50.
    public var sessionLimit = 50

    /// The storage that an account without limits of its own may use. The owner of a row pays for it.
    public var quota = AccountQuota()

    /// The time after its last use at which a session expires, accurate to a day. Nil for sessions that do not expire
    /// in this way. It applies to new sessions. The default is 90 days.
    public var sessionIdleTime: Duration? = .seconds(90 * 86_400)

    /// The average number of requests per second that an account may make. Up to ten times as many may arrive at once.
    /// Each hundred mutations of a push, or each ten milliseconds of the database, count as one more request. If nil,
    /// the host has to limit requests. The default is nil.
    public var requestsPerSecond: Int?

    /// Permits a device to ask for the id of an account by its name, so that it can share something with it. Every
    /// session can then find out which names exist. The default is false.
    public var namesAccounts = false

    /// The maximum duration of a stream that stays open. The device then requests another one. The value must be below
    /// the limit of a proxy in front. The default is ten minutes.
    public var longestStream = Duration.seconds(600)

    /// The policies for changes of rows that have changed in the meantime, by table name. Other tables use
    /// ``SyncConflictPolicy/lastWriterWins``. `lfs_file` has its own rules and accepts no policy.
    public var conflicts: [String: SyncConflictPolicy] = [:]

    /// The current time, for the ages of deletions and sessions. Positions use the database's own clock.
    public var now: @Sendable () -> Date = { Date() }

    /// Creates the default options.
    public init() {}
}
