public import LFSStorage

/// How the settings of a device and those of the user's other ones are kept equal.
public struct CompanionOptions: Sendable {
    /// The ways to the other devices; none has everything stay here.
    public var transports: [any CompanionTransport]
    /// How often to look for what others have published, where a transport does not tell.
    public var interval: Duration
    /// How long to wait after a failure.
    public var backoff: Backoff
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// Options; every one has a default.
    ///
    /// - Parameters:
    ///   - transports: the ways to the other devices.
    ///   - interval: how often to look for what others have published; at least a second, and less counts as that.
    ///   - backoff: how long to wait after a failure.
    public init(
        _ transports: [any CompanionTransport] = [], interval: Duration = .seconds(60),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(600))
    ) {
        (self.transports, self.interval, self.backoff) = (transports, max(interval, .seconds(1)), backoff)
    }
}
