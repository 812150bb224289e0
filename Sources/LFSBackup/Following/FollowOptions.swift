/// How folders are followed; every option has a default.
public struct FollowOptions: Sendable {
    /// How long a file may not change before it has settled. One that changes all the time never does.
    public var settle = Duration.seconds(5)
    /// How often everything is walked as well; nil for ``usualRescan`` while not all can be followed, and else never.
    public var rescan: Duration?
    /// How often the follower looks whether the named paths still lead to the same folders. No system reports that.
    package var rootCheck = Duration.seconds(60)
    package var clock: any Clock<Duration> = ContinuousClock()

    /// How often everything is walked while not all can be followed.
    public static let usualRescan = Duration.seconds(15 * 60)

    /// The defaults.
    public init() {}
}
