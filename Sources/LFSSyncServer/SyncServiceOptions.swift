public import Foundation

/// What a sync server asks its host, and how much it takes.
public struct SyncServiceOptions: Sendable {
    /// Whether the storage has an object, asked when a device says that it has uploaded one. nil: devices are believed.
    ///
    /// What it throws is told to the device as a storage that does not answer, and the device tries again.
    public var objectExists: (@Sendable (SyncFile) async throws -> Bool)?

    /// How long an object stays in the storage when its file was deleted, for a server that then removes it by
    /// ``SyncService/removeObjects(_:)``: a day is enough for devices that read it just then, and for a backup that is
    /// put back. nil: nothing is noted, the devices that delete files remove the objects, and nobody does for one that
    /// is lost.
    public var removalDelay: Duration?

    /// Sessions of an account.
    public var sessionLimit = 50

    /// Requests of an account, each second on average, with ten seconds' worth at once; nil leaves it to the host.
    /// Each hundred mutations of a push count as a request more.
    public var requestsPerSecond: Int?

    /// Whether a device may ask for the id of an account by its name, to share something with it. Whoever has a session
    /// finds out in this way which names there are.
    public var namesAccounts = false

    /// After how long a stream that stays open ends, so that the device asks again: less than what a proxy in front
    /// allows.
    public var longestStream = Duration.seconds(600)

    /// What becomes of changes of rows that are others by now, by the names of tables: those that are not named have
    /// ``SyncConflictPolicy/lastWriterWins``. `lfs_file` has rules of its own, and no policy.
    public var conflicts: [String: SyncConflictPolicy] = [:]

    /// What time it is, for the ages of deletions and sessions. Positions go by the database's own clock.
    public var now: @Sendable () -> Date = { Date() }

    public init() {}
}

/// Why a session could not be made.
public struct SyncSessionError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The account has as many as it may have.
        case tooMany
    }

    public let code: Code
    /// What to do.
    public let message: String

    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
