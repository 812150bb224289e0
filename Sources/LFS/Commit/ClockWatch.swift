import Foundation
import Synchronization

/// Notices that the clock on the wall was set: what waits for a time of day may be due at once.
final class ClockWatch: Sendable {
    private struct Reading {
        var wall: Date
        var steady: ContinuousClock.Instant
    }

    /// Less is the clock being steered.
    private static let tolerance = Duration.seconds(5)

    private let wallClock: @Sendable () -> Date
    private let last: Mutex<Reading>

    init(wallClock: @escaping @Sendable () -> Date) {
        self.wallClock = wallClock
        last = Mutex(Reading(wall: wallClock(), steady: .now))
    }

    /// Since it was asked last.
    func wereSet() -> Bool {
        let now = Reading(wall: wallClock(), steady: .now)
        return last.withLock { last in
            defer { last = now }
            let elapsed = Duration.seconds(now.wall.timeIntervalSince(last.wall))
            let drift = elapsed - (now.steady - last.steady)
            return drift > Self.tolerance || drift < .zero - Self.tolerance
        }
    }
}
