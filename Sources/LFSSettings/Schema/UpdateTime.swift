import LFSSystem

/// What the time in the id of an update is good for.
enum UpdateTime {
    /// How many milliseconds a clock may be ahead of another one.
    static let furthestAhead: Int64 = 24 * 3_600_000

    /// Before 2026, in milliseconds since 1970: a clock that says so was never set, as after its battery has gone.
    static let earliest: Int64 = 1_767_225_600_000

    /// How many milliseconds a removal is told, at least: half a year.
    static let removalLifetime: Int64 = 180 * 24 * 3_600_000

    /// Whether a removal of then has been told for long enough.
    static func isLongAgo(_ milliseconds: Int64, now: Int64) -> Bool { milliseconds < now &- removalLifetime }

    /// Whether the id is of a clock that cannot be right, as seen from here.
    static func isTooFarAhead(_ id: FileID, now: Int64) -> Bool { id.milliseconds > now &+ furthestAhead }
}
