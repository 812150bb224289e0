public import LFSStorage

/// How the settings of a device and those of the user's other ones are kept equal.
public struct CompanionOptions: Sendable {
    /// The ways to the other devices; none has everything stay here.
    public var transports: [any CompanionTransport]
    /// How often to look for what others have published, where a transport does not tell; at least a second.
    public var interval: Duration
    /// How long to wait after a failure; at least a second.
    public var backoff: Backoff
    /// How long a transport may take to publish a state, or to hand out the next one; at least a second. Then the call
    /// is cancelled, and is ``SettingsError/Code/timedOut``.
    public var deadline: Duration
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// Options; every one has a default.
    ///
    /// - Parameters:
    ///   - transports: the ways to the other devices.
    ///   - interval: how often to look for what others have published; less than a second counts as that.
    ///   - backoff: how long to wait after a failure; less than a second counts as that.
    ///   - deadline: how long a transport may take for one state; less than a second counts as that.
    public init(
        _ transports: [any CompanionTransport] = [], interval: Duration = .seconds(60),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(600)), deadline: Duration = .seconds(300)
    ) {
        (self.transports, self.interval, self.backoff) = (transports, interval, backoff)
        self.deadline = deadline
    }

    /// What shorter times count as: where they are used, for they may be set to anything.
    static let shortest = Duration.seconds(1)
}
