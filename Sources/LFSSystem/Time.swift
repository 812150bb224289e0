package import Foundation

extension Date {
    /// Whole milliseconds. A time that does not fit, as a row may have it, is the nearest that does.
    package var millisecondsSince1970: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }

    package init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// Whole microseconds, as nanoseconds.
    package var nanosecondsSince1970: Int64 {
        let microseconds = Int64(exactly: (timeIntervalSince1970 * 1_000_000).rounded(.towardZero))
        // Three centuries are about what fits.
        return min(max(microseconds ?? 0, -9_000_000_000_000_000), 9_000_000_000_000_000) * 1_000
    }
}

extension Duration {
    /// Whole milliseconds; what is longer than ten thousand years counts as that, so that times can be added.
    package var milliseconds: Int64 {
        let longest: Int64 = 10_000 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// Whole nanoseconds; what is longer than a hundred years counts as that, so that times can be added.
    package var nanoseconds: Int64 {
        let longest: Int64 = 100 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
