public import LFSStorage

/// The options for syncing settings with the user's other devices.
public struct CompanionOptions: Sendable {
    /// The transports to the other devices. Without transports nothing is synced.
    public var transports: [any CompanionTransport]
    /// The interval between checks for new states. A transport that reports changes triggers a check earlier. At least
    /// one second.
    public var interval: Duration
    /// The delays after failures. At least one second.
    public var backoff: Backoff
    /// The time limit for a transport to publish a state, or to deliver the next one. At least one second. After it the
    /// call is cancelled, and throws ``SettingsError/Code/timedOut``.
    public var deadline: Duration
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// Creates options. Every option has a default.
    public init(
        _ transports: [any CompanionTransport] = [], interval: Duration = .seconds(60),
        backoff: Backoff = Backoff(base: .seconds(1), cap: .seconds(600)), deadline: Duration = .seconds(300)
    ) {
        self.transports = transports
        self.interval = interval
        self.backoff = backoff
        self.deadline = deadline
    }

    /// The lower bound of all times. It is applied where they are used, because the properties can be set to any value.
    static let shortest = Duration.seconds(1)
}
