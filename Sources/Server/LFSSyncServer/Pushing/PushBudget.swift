import LFSWire

/// The time that a push may take, so that other accounts do not wait for it.
struct PushBudget: Sendable {
    /// The time after which no further mutation starts. The device sends the rest again.
    static let soft = Duration.seconds(1)
    /// The time after which a push is stopped and rolled back.
    static let hard = Duration.seconds(5)

    private let start: ContinuousClock.Instant
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Starts now.
    init(_ now: @escaping @Sendable () -> ContinuousClock.Instant) {
        start = now()
        self.now = now
    }

    var isSpent: Bool { now() - start >= Self.soft }

    var isOver: Bool { now() - start >= Self.hard }
}

/// A push that took longer than ``PushBudget/hard``.
struct PushTooSlow: Error {
    /// The number of mutations before the one that did not end in time.
    let count: Int
}

extension WireFailure.Code {
    /// A push that the server has ended because it took too long. Nothing of it was applied.
    static let tooSlow = WireFailure.Code(rawValue: "too_slow")
}
