package import Foundation

/// The clock for the age of versions. It adds up the seconds between readings of the system clock instead of using the
/// time of day. A system clock that is wrong for a while adds little to it, and a correction adds nothing.
///
/// The cost is that versions stay longer when readings are rare, for example on a machine that is off for months.
package struct VersionClock: Equatable, Sendable {
    /// The accumulated seconds, starting at 0.
    package var age: TimeInterval
    /// The system time at the last reading. Nil before the first one.
    package var seen: Date?

    package init(age: TimeInterval = 0, seen: Date? = nil) { (self.age, self.seen) = (age, seen) }

    /// The maximum number of seconds that a reading can add.
    private static let longestStep: TimeInterval = 7 * 86_400

    /// - Parameter kept: the time for which versions are kept. Nil for forever.
    /// - Returns: the maximum that a reading can add, so that no single wrong reading expires a version.
    private static func limit(_ kept: TimeInterval?) -> TimeInterval { min(longestStep, (kept ?? .infinity) / 4) }

    /// Reads the system time.
    ///
    /// - Parameter kept: the time for which versions are kept. Nil for forever.
    package mutating func look(at now: Date, keeping kept: TimeInterval?) {
        if let seen { age += min(max(now.timeIntervalSince(seen), 0), Self.limit(kept)) }
        seen = now
    }

    /// Returns true if a reading has to be stored: an hour has passed since the stored one, or so much time that the
    /// next reading could not count all of it.
    package func isWorthNoting(after old: VersionClock, keeping kept: TimeInterval?) -> Bool {
        guard let seen, let before = old.seen else { return true }
        return abs(seen.timeIntervalSince(before)) >= min(3_600, Self.limit(kept) / 4)
    }

    /// Validates a stored age, which another program may have written.
    ///
    /// - Returns: nil for an invalid age: not a number, negative, or longer than any version is kept.
    package static func age(_ seconds: Double?) -> TimeInterval? {
        seconds.flatMap { (0..<longestAge).contains($0) ? $0 : nil }
    }

    /// A thousand years.
    private static let longestAge: TimeInterval = 365_250 * 86_400
}
