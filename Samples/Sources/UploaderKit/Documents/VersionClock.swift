package import Foundation

/// The time that versions age by. A clock that is wrong for a while removes none of them: a leap of it counts only when
/// a later look finds the same.
///
/// That versions stay longer than they have to, by one run after a machine rested for weeks, is the price.
package struct VersionClock: Equatable, Sendable {
    /// The latest time that was believed; nil before the first look.
    package var believed: Date?
    /// When the clock was first seen to have leapt; nil while it goes as it should.
    package var leapt: Date?

    package init(believed: Date? = nil, leapt: Date? = nil) { (self.believed, self.leapt) = (believed, leapt) }

    /// What a machine may rest, and what a clock may be put right by.
    private static let longestRest: TimeInterval = 7 * 86_400
    private static let longestCorrection: TimeInterval = 86_400
    /// A wrong clock is put right before that, mostly at the next start.
    private static let doubt: TimeInterval = 12 * 3_600

    /// Takes what the clock says now.
    ///
    /// - Returns: the time by which versions may go.
    package mutating func look(at now: Date) -> Date {
        guard let believed else {
            (self.believed, leapt) = (now, nil)
            return now
        }
        if (-Self.longestCorrection...Self.longestRest).contains(now.timeIntervalSince(believed)) {
            (self.believed, leapt) = (max(believed, now), nil)
            return now
        }
        guard let leapt, now.timeIntervalSince(leapt) >= 0 else {
            leapt = now
            return min(now, believed)
        }
        guard now.timeIntervalSince(leapt) >= Self.doubt else { return min(now, believed) }
        (self.believed, self.leapt) = (now, nil)
        return now
    }

    /// The time of a replacement: no clock that was put back makes a version older than it is.
    package func time(of replacement: Date) -> Date { max(replacement, believed ?? replacement) }
}
