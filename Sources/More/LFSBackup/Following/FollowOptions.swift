/// Options of a follower. Every option has a default.
public struct FollowOptions: Sendable {
    /// The time without changes after which a file has settled. A file that changes constantly never settles. The
    /// default is 5 seconds.
    public var settle = Duration.seconds(5)
    /// The interval of additional full walks. If nil, the follower uses ``usualRescan`` while it cannot watch all
    /// folders or a file has failed, and makes no such walks otherwise.
    public var rescan: Duration?
    /// The interval at which the follower checks whether the selected paths still lead to the same folders. No system
    /// reports that.
    package var rootCheck = Duration.seconds(60)
    package var clock: any Clock<Duration> = ContinuousClock()

    /// The interval of full walks while not all folders can be watched, or a file has failed.
    public static let usualRescan = Duration.seconds(15 * 60)

    /// Creates options with the default values.
    public init() {}
}
