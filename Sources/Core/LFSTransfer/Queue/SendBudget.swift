/// The amount of a file that failed attempts have uploaded.
///
/// A storage may accept all bytes of a file and fail at the end, every time. Without a limit, a large file would be
/// uploaded again every minute. So it is uploaded again at most four times a day after the first time, with growing
/// delays.
package struct SendBudget: Hashable, Sendable {
    /// The bytes uploaded since the day started, including the first time.
    package private(set) var byteCount: Int64
    /// The time since the day started.
    package private(set) var age: Duration

    package init(byteCount: Int64 = 0, age: Duration = .zero) {
        self.byteCount = max(byteCount, 0)
        self.age = min(max(age, .zero), Self.day)
    }

    /// The longest delay.
    package static let day = Duration.seconds(24 * 3_600)
    private static let timesADay: Int64 = 4
    /// The shortest delays, by the number of times that the whole file was sent again: none yet, once, twice, three
    /// times.
    private static let waits: [Duration] = [.zero, .seconds(60), .seconds(30 * 60), .seconds(6 * 3_600)]

    /// Returns the budget after another failed attempt.
    ///
    /// - Parameters:
    ///   - sent: the bytes that the attempt has uploaded.
    ///   - size: the file's size in bytes.
    package func adding(_ sent: Int64, size: Int64) -> SendBudget {
        // A new day starts. The first upload is counted once for all days, so its bytes stay in the sum.
        let isOver = byteCount > 0 && age >= Self.day
        let before = isOver ? min(byteCount, size) : byteCount
        let (sum, isTooMuch) = before.addingReportingOverflow(max(sent, 0))
        return SendBudget(byteCount: isTooMuch ? .max : sum, age: isOver || byteCount == 0 ? .zero : age)
    }

    /// Returns the minimum delay before the next attempt.
    ///
    /// - Parameter size: the file's size in bytes.
    package func wait(size: Int64) -> Duration {
        let again = byteCount - size
        guard size > 0, again > 0 else { return .zero }
        // The next attempt may upload the whole file.
        if again / size >= Self.timesADay - 1, again != (Self.timesADay - 1) * size { return Self.day - age }
        return Self.waits[Int(again / size)]
    }
}
