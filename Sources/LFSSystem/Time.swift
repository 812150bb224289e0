package import Foundation

extension Date {
    /// Whole milliseconds. A time that does not fit, as a row may have it, is the nearest that does.
    package var millisecondsSince1970: Int64 {
        Int64(saturating: timeIntervalSince1970 * 1_000)
    }

    package init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }

    /// The whole microseconds since 1970 in nanoseconds, to be compared with the times of files. A date that is farther
    /// away than any file's counts as the nearest that a file can have.
    package var nanosecondsSince1970: Nanoseconds {
        let microseconds = Int128(saturating: (timeIntervalSince1970 * 1_000_000).rounded(.towardZero))
        let farthest = Int128(Int64.max) * 1_000_000
        return Nanoseconds(min(max(microseconds, -farthest), farthest) * 1_000)
    }
}

extension Duration {
    /// Whole milliseconds; what is longer than ten thousand years counts as that, so that times can be added.
    package var milliseconds: Int64 {
        let longest: Int64 = 10_000 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }

    /// The whole nanoseconds, which can be added to the times of files.
    package var nanoseconds: Nanoseconds { Nanoseconds(attoseconds / 1_000_000_000) }
}
