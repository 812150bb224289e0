import LFSSystem

/// The limits for the time in the id of an update.
enum UpdateTime {
    /// The tolerated difference to a clock that is ahead, in milliseconds.
    static let furthestAhead: Int64 = 24 * 3_600_000

    /// The start of 2026, in milliseconds since 1970. A clock that shows an earlier time was never set, for example
    /// after its battery was empty.
    static let earliest: Int64 = 1_767_225_600_000

    /// The minimum time in milliseconds for which a removal is published: half a year.
    static let removalLifetime: Int64 = 180 * 24 * 3_600_000

    static func isLongAgo(_ milliseconds: Int64, now: Int64) -> Bool { milliseconds < now &- removalLifetime }

    static func isTooFarAhead(_ id: FileID, now: Int64) -> Bool { id.milliseconds > now &+ furthestAhead }
}
