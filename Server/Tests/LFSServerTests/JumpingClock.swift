import Synchronization

/// A clock whose sleeps end at once and add to its time.
final class JumpingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Swift.Duration

        func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let time = Mutex(Swift.Duration.zero)

    var now: Instant { Instant(offset: time.withLock { $0 }) }
    let minimumResolution = Swift.Duration.zero

    func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
        try Task.checkCancellation()
        time.withLock { $0 = max($0, deadline.offset) }
    }

    /// Adds to the time, as work does.
    func advance(by duration: Swift.Duration) { time.withLock { $0 += duration } }
}
