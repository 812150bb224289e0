package import Foundation

extension Date {
    /// The time in whole milliseconds. A time that does not fit, for example from a row, becomes the nearest one that
    /// does.
    package var millisecondsSince1970: Int64 {
        Int64(saturating: timeIntervalSince1970 * 1_000)
    }

    package init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// The time in whole microseconds since 1970, as nanoseconds, for comparison with file times. A date outside the
    /// range of file times becomes the nearest one inside it.
    package var nanosecondsSince1970: Nanoseconds {
        let microseconds = Int128(saturating: (timeIntervalSince1970 * 1_000_000).rounded(.towardZero))
        let farthest = Int128(Int64.max) * 1_000_000
        return Nanoseconds(min(max(microseconds, -farthest), farthest) * 1_000)
    }
}

extension Duration {
    /// The duration in whole milliseconds. It is limited to ten thousand years, so that durations can be added.
    package var milliseconds: Int64 {
        let longest: Int64 = 10_000 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The duration in whole nanoseconds, which can be added to file times.
    package var nanoseconds: Nanoseconds { Nanoseconds(attoseconds / 1_000_000_000) }
}
