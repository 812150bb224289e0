import Foundation
import Synchronization

/// A watch for changes of the wall clock. Work that is due at a time of day may be due at once then.
final class ClockWatch: Sendable {
    private struct Reading {
        var wall: Date
        var steady: ContinuousClock.Instant
    }

    /// Smaller differences come from the gradual adjustment of the clock.
    private static let tolerance = Duration.seconds(5)

    private let wallClock: @Sendable () -> Date
    private let last: Mutex<Reading>

    init(wallClock: @escaping @Sendable () -> Date) {
        self.wallClock = wallClock
        last = Mutex(Reading(wall: wallClock(), steady: .now))
    }

    /// Returns whether the clock was set since the last call.
    func clockDidJump() -> Bool {
        let now = Reading(wall: wallClock(), steady: .now)
        return last.withLock { last in
            defer { last = now }
            let elapsed = Duration.seconds(now.wall.timeIntervalSince(last.wall))
            let drift = elapsed - (now.steady - last.steady)
            return drift > Self.tolerance || drift < .zero - Self.tolerance
        }
    }
}
