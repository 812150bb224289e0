package import Foundation

/// The age that versions go by: seconds that were counted from look to look, and no time of day. A clock that is wrong
/// for a while adds little to it, and one that is put right adds nothing.
///
/// That versions stay longer where looks are rare, as on a machine that rests for months, is the price.
package struct VersionClock: Equatable, Sendable {
    /// Counted from 0 on.
    package var age: TimeInterval
    /// What the clock said at the last look; nil before the first one.
    package var seen: Date?

    package init(age: TimeInterval = 0, seen: Date? = nil) { (self.age, self.seen) = (age, seen) }

    /// What a look can add at most.
    private static let longestStep: TimeInterval = 7 * 86_400

    /// - Parameter kept: how long versions are kept; nil for ever.
    /// - Returns: what a look can add at most: no single wrong one ends a version.
    private static func limit(_ kept: TimeInterval?) -> TimeInterval { min(longestStep, (kept ?? .infinity) / 4) }

    /// Takes what the clock says now.
    ///
    /// - Parameter kept: how long versions are kept; nil for ever.
    package mutating func look(at now: Date, keeping kept: TimeInterval?) {
        if let seen { age += min(max(now.timeIntervalSince(seen), 0), Self.limit(kept)) }
        seen = now
    }

    /// Whether a look has to be noted: an hour has gone by since that one, or so much that the next could not count it.
    package func isWorthNoting(after old: VersionClock, keeping kept: TimeInterval?) -> Bool {
        guard let seen, let before = old.seen else { return true }
        return abs(seen.timeIntervalSince(before)) >= min(3_600, Self.limit(kept) / 4)
    }

    /// An age as another program may have written it.
    ///
    /// - Returns: nil for what is none: no number, negative, or longer than anything is kept.
    package static func age(_ seconds: Double?) -> TimeInterval? {
        seconds.flatMap { (0..<longestAge).contains($0) ? $0 : nil }
    }

    /// A thousand years.
    private static let longestAge: TimeInterval = 365_250 * 86_400
}
