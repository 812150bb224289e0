/// How much of a file was sent by tries that failed.
///
/// A storage may take all bytes of a file and fail at the end, each time. Without a limit a large file would be sent
/// again every minute. So it is sent again at most four times a day beyond the first time, with growing waits in
/// between.
package struct SendBudget: Hashable, Sendable {
    /// The bytes that were sent since the day began, the first time included.
    package private(set) var byteCount: Int64
    /// How long ago the day began.
    package private(set) var age: Duration

    package init(byteCount: Int64 = 0, age: Duration = .zero) {
        self.byteCount = max(byteCount, 0)
        self.age = min(max(age, .zero), Self.day)
    }

    /// No wait is longer.
    package static let day = Duration.seconds(24 * 3_600)
    private static let timesADay: Int64 = 4
    /// How long to wait at least when the file was sent again once, twice and three times.
    private static let waits: [Duration] = [.zero, .seconds(60), .seconds(30 * 60), .seconds(6 * 3_600)]

    /// The budget after another failed try.
    ///
    /// - Parameters:
    ///   - sent: the bytes that the try has sent.
    ///   - size: the file's size in bytes.
    package func adding(_ sent: Int64, size: Int64) -> SendBudget {
        // A new day begins. The first sending counts for all days together, so that much of the sum is kept.
        let isOver = byteCount > 0 && age >= Self.day
        let before = isOver ? min(byteCount, size) : byteCount
        let (sum, isTooMuch) = before.addingReportingOverflow(max(sent, 0))
        return SendBudget(byteCount: isTooMuch ? .max : sum, age: isOver || byteCount == 0 ? .zero : age)
    }

    /// How long the next try has to wait at least.
    package func wait(size: Int64) -> Duration {
        let again = byteCount - size
        guard size > 0, again > 0 else { return .zero }
        // The next try may send all of it.
        if again / size >= Self.timesADay - 1, again != (Self.timesADay - 1) * size { return Self.day - age }
        return Self.waits[Int(again / size)]
    }
}
